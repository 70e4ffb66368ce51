//! Matrix operands, as described by a call's arguments: a single matrix, a strided batch, or an
//! array of pointers.

use std::array::from_fn;
use std::borrow::Cow;

use emulated_blas::{
    Access, AccessRequester, DataType, Driver, Matrix, MatrixOperation, Order, Refused, Rejection,
    Result, StreamHandle, View, check_range,
};

/// The constructor of an access: [`Access::read`] or [`Access::write`].
pub(crate) type MakeAccess = fn(u64, u64, u64, u64) -> Access;

/// The place of a batch's matrices in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BatchLocation {
    /// The address of the first matrix, and the distance in elements between adjacent matrices.
    Strided(u64, i64),
    /// The address of an array in device memory that has the matrices' addresses.
    Array(u64),
    /// The address of an array in device or host memory that has the matrices' addresses; cudarc
    /// passes host arrays for grouped products.
    ArrayAnywhere(u64),
}

/// An operand of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    /// The operand's name in messages.
    pub(crate) name: &'static str,
    /// The name of the operand's leading dimension in messages.
    pub(crate) ld_name: &'static str,
    pub(crate) place: BatchLocation,
    pub(crate) ty: DataType,
    pub(crate) ld: i64,
}

/// Describes the operands `A`, `B` and `C`.
pub(crate) fn operands(
    types: [DataType; 3],
    places: [BatchLocation; 3],
    lds: [i64; 3],
) -> [Operand; 3] {
    let names = [("A", "lda"), ("B", "ldb"), ("C", "ldc")];
    from_fn(|index| {
        let ((name, ld_name), place) = (names[index], places[index]);
        Operand { name, ld_name, place, ty: types[index], ld: lds[index] }
    })
}

/// An operand whose arguments and memory have been checked.
#[derive(Clone, Debug)]
pub(crate) struct CheckedOperand {
    /// The properties that all matrices of the batch share.
    matrix: Matrix,
    addresses: Addresses,
}

#[derive(Clone, Debug)]
enum Addresses {
    /// The addresses follow from the stride in `matrix`.
    Strided,
    /// The addresses were read when the function was called.
    Known(Vec<u64>),
    /// The address of an array in device memory, which is read each time the work runs, because it
    /// may have changed before a graph is launched.
    Array(u64),
}

impl Operand {
    /// Describes the operand as a matrix of this size.
    pub(crate) fn matrix(&self, rows: i64, columns: i64, batch: i64) -> Matrix {
        let (address, batch_stride) = match self.place {
            BatchLocation::Strided(address, stride) => (address, stride),
            BatchLocation::Array(_) | BatchLocation::ArrayAnywhere(_) => (0, 0),
        };
        Matrix {
            name: self.name,
            ld_name: self.ld_name,
            address,
            ty: self.ty,
            rows: rows.unsigned_abs(),
            columns: columns.unsigned_abs(),
            ld: self.ld,
            order: Order::Column,
            batch: batch.unsigned_abs(),
            batch_stride,
        }
    }

    /// Checks the operand's memory. An array of pointers is read after all earlier work on the
    /// stream, which may write it; during a capture, it is only read when the graph runs.
    pub(crate) fn check(
        &self,
        driver: &Driver,
        stream: StreamHandle,
        matrix: Matrix,
    ) -> Result<CheckedOperand> {
        let (array, anywhere) = match self.place {
            BatchLocation::Array(array) => (array, false),
            BatchLocation::ArrayAnywhere(array) => (array, true),
            BatchLocation::Strided(..) => {
                matrix.check_memory(driver)?;
                return Ok(CheckedOperand { matrix, addresses: Addresses::Strided });
            }
        };
        let name = self.name;
        let in_host = array != 0 && anywhere && driver.allocation_of(array)?.is_none();
        if array == 0 || !in_host && !array.is_multiple_of(8) {
            return Err(Rejection::invalid(format!(
                "the array of pointers to {name} is at {array:#x}, which is null or not a multiple of 8"
            )));
        }
        let count = matrix.batch;
        let addresses = if in_host {
            // SAFETY: the array is in host memory, and the caller of the C function keeps it
            // readable.
            unsafe { driver.addresses_of_host(array, count as usize) }?
        } else {
            check_range(
                driver,
                &format!("the array of pointers to {name}"),
                array,
                count.saturating_mul(8),
            )?;
            if driver.is_capturing(stream)? {
                return Ok(CheckedOperand { matrix, addresses: Addresses::Array(array) });
            }
            driver.addresses(stream, array, count as usize)?
        };
        for (index, &address) in addresses.iter().enumerate() {
            let single = Matrix { address, batch: 1, ..matrix.clone() };
            single.check_memory(driver).map_err(|rejection| {
                rejection.map_message(|message| format!("matrix {index} of the batch: {message}"))
            })?;
        }
        Ok(CheckedOperand { matrix, addresses: Addresses::Known(addresses) })
    }
}

impl CheckedOperand {
    /// The view of matrix `index` with an operation applied; `None` if the matrix's address is only
    /// known when the work runs.
    pub(crate) fn view(&self, operation: MatrixOperation, index: u64) -> Option<View> {
        match &self.addresses {
            Addresses::Strided => Some(View::of_matrix(&self.matrix, operation, index)),
            Addresses::Known(addresses) => {
                let address = *addresses.get(index as usize)?;
                let single = Matrix { address, ..self.matrix.clone() };
                Some(View::of_matrix(&single, operation, 0))
            }
            Addresses::Array(_) => None,
        }
    }

    /// Appends the accesses of the work, as far as they are known before the work runs.
    ///
    /// # Errors
    /// `ALLOC_FAILED` if the host is out of memory.
    pub(crate) fn accesses(&self, make: MakeAccess, list: &mut Vec<Access>) -> Result {
        match &self.addresses {
            Addresses::Strided => Access::append(list, self.matrix.accesses(make)),
            Addresses::Known(addresses) => {
                for &address in addresses {
                    let single = Matrix { address, batch: 1, ..self.matrix.clone() };
                    Access::append(list, single.accesses(make))?;
                }
                Ok(())
            }
            Addresses::Array(_) => Ok(()),
        }
    }

    /// Returns the operand with all addresses known. It is called while the work runs: it reads
    /// addresses that were unknown until then, and requests access to their matrices.
    ///
    /// # Errors
    /// If access to the array, or to a matrix that it points to, is refused.
    pub(crate) fn with_addresses(
        &self,
        requester: &AccessRequester,
        makes: &[MakeAccess],
    ) -> Result<Cow<'_, Self>, Refused> {
        let Addresses::Array(array) = self.addresses else { return Ok(Cow::Borrowed(self)) };
        let addresses = Addresses::Known(requester.addresses(array, self.matrix.batch)?);
        let located = Self { matrix: self.matrix.clone(), addresses };
        let size = self.matrix.ty.size();
        let mut accesses = Vec::new();
        for &make in makes {
            located.accesses(make, &mut accesses)?;
        }
        for access in &mut accesses {
            *access = access.aligned_to(size);
        }
        requester.request(&accesses)?;
        Ok(Cow::Owned(located))
    }

    /// The address of the first matrix, if it is known from the arguments.
    pub(crate) fn address(&self) -> Option<u64> {
        match &self.addresses {
            Addresses::Strided => Some(self.matrix.address),
            _ => None,
        }
    }
}
