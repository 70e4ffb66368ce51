//! Tests of atomic writes and bounded reads, with a failure at each possible point.

use std::path::PathBuf;

use super::*;

/// The sorted names in a folder.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write_bytes(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomically(path, |writer| writer.write_all(bytes))
}

/// Runs a test in a folder that has a file `old` with the content `old`.
fn with_old(test: impl FnOnce(&Path, PathBuf)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old");
    fs::write(&path, b"old").unwrap();
    test(folder.path(), path);
}

/// Simulates a disk that is full after `full_after` bytes, with writes of several sizes.
#[test]
fn a_failed_write_keeps_the_old_file_and_leaves_no_other() {
    let new: Vec<u8> = (0..200).collect();
    with_old(|folder, path| {
        for full_after in 0..new.len() {
            for piece in [1, 7, 64, new.len()] {
                let failed = write_atomically::<io::Error>(&path, |writer| {
                    let mut written = 0;
                    for part in new.chunks(piece) {
                        let fits = part.len().min(full_after - written);
                        writer.write_all(&part[..fits])?;
                        written += fits;
                        if fits < part.len() {
                            return Err(io::ErrorKind::StorageFull.into());
                        }
                    }
                    unreachable!("the disk is full before the end");
                });
                assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
                assert_eq!(fs::read(&path).unwrap(), b"old", "full after {full_after}");
                assert_eq!(names_in(folder), ["old"]);
            }
        }
        write_bytes(&path, &new).unwrap();
        assert_eq!(fs::read(&path).unwrap(), new);
        assert_eq!(names_in(folder), ["old"]);
    });
}

#[test]
fn a_panic_while_writing_keeps_the_old_file_and_leaves_no_other() {
    with_old(|folder, path| {
        let outcome = std::panic::catch_unwind(|| {
            write_atomically::<io::Error>(&path, |writer| {
                writer.write_all(b"half of the new")?;
                panic!("while it is written");
            })
        });
        assert!(outcome.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder), ["old"]);
    });
}

#[test]
fn check_writable_and_writes_fail_alike() {
    let folder = tempfile::tempdir().unwrap();
    check_writable(&folder.path().join("new.json")).unwrap();
    assert!(names_in(folder.path()).is_empty());
    let error_text = |path: &Path| {
        let checked = check_writable(path).unwrap_err().to_string();
        assert_eq!(write_bytes(path, b"x").unwrap_err().to_string(), checked);
        assert!(!checked.contains(".part"), "{checked}");
        checked
    };
    let absent = folder.path().join("absent");
    let expected = format!("the folder {} does not exist", absent.display());
    assert_eq!(error_text(&absent.join("new.json")), expected);
    assert_eq!(error_text(&folder.path().join("new/")), "it is the name of a folder");
    assert_eq!(error_text(folder.path()), "it is a folder");
    assert_eq!(error_text(Path::new("")), "its name is empty");
    let file = folder.path().join("file");
    fs::write(&file, b"old").unwrap();
    let error = check_writable(&file.join("new.json")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    assert!(check_writable(&folder.path().join("n".repeat(300))).is_err());
    assert!(check_writable(Path::new("nul\0in the name")).is_err());
}

#[test]
fn read_only_files_are_not_replaced_even_by_root() {
    with_old(|folder, path| {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).unwrap();
        let error = write_bytes(&path, b"new").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert!(error.to_string().contains("read-only"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder), ["old"]);
    });
}

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn permissions_are_kept() {
        with_old(|folder, path| {
            for kept in [0o600, 0o640, 0o664, 0o755] {
                fs::set_permissions(&path, fs::Permissions::from_mode(kept)).unwrap();
                write_bytes(&path, b"new").unwrap();
                assert_eq!(mode(&path), kept, "{kept:o}");
            }
            // A new file has the default permissions, as set by the shell's umask.
            let usual = folder.join("usual");
            fs::write(&usual, b"").unwrap();
            let new = folder.join("new");
            write_bytes(&new, b"new").unwrap();
            assert_eq!(mode(&new), mode(&usual));
        });
    }

    /// Only root can change an owner; for other users, this test only shows that the group is kept.
    #[test]
    fn the_owner_is_kept() {
        with_old(|_, path| {
            let foreign = std::os::unix::fs::chown(&path, Some(12_345), Some(12_345));
            if foreign.is_err() {
                eprintln!("not tested, because it needs root: another user's ownership is kept");
            }
            let owner = |path: &Path| fs::metadata(path).map(|m| (m.uid(), m.gid())).unwrap();
            let before = owner(&path);
            write_bytes(&path, b"new").unwrap();
            assert_eq!(owner(&path), before);
        });
    }

    #[test]
    fn the_target_of_a_symbolic_link_is_replaced() {
        with_old(|folder, path| {
            let (near, far) = (folder.join("near"), folder.join("far"));
            symlink("old", &near).unwrap();
            symlink(&near, &far).unwrap();
            write_bytes(&far, b"new").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(fs::symlink_metadata(&path).unwrap().is_file());
            assert!(fs::symlink_metadata(&near).unwrap().is_symlink());
            assert!(fs::symlink_metadata(&far).unwrap().is_symlink());

            // A link to a missing target creates the target.
            let early = folder.join("early");
            symlink("later", &early).unwrap();
            write_bytes(&early, b"late").unwrap();
            assert_eq!(fs::read(folder.join("later")).unwrap(), b"late");
            assert!(fs::symlink_metadata(&early).unwrap().is_symlink());

            let circle = folder.join("circle");
            symlink("circle", &circle).unwrap();
            let error = write_bytes(&circle, b"x").unwrap_err();
            assert!(error.to_string().contains("circle"), "{error}");
            assert_eq!(names_in(folder), ["circle", "early", "far", "later", "near", "old"]);
        });
    }

    #[test]
    fn different_paths_of_one_file_are_the_same() {
        with_old(|folder, path| {
            let link = folder.join("link");
            symlink("old", &link).unwrap();
            fs::hard_link(&path, folder.join("hard")).unwrap();
            fs::create_dir(folder.join("sub")).unwrap();
            for other in ["old", "link", "hard", "./old", "sub/../old"] {
                assert!(is_same(&path, &folder.join(other)), "{other}");
            }
            assert!(is_same(&folder.join("new"), &folder.join("sub/../new")));
            assert!(!is_same(&path, &folder.join("new")));
            assert!(!is_same(&folder.join("new"), &folder.join("newer")));
            assert!(!is_same(Path::new("/dev/null"), Path::new("/dev/null")));
        });
    }

    #[test]
    fn devices_are_written_and_not_replaced() {
        write_bytes(Path::new("/dev/null"), b"x").unwrap();
        check_writable(Path::new("/dev/null")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        if Path::new("/dev/full").exists() {
            let error = write_bytes(Path::new("/dev/full"), b"x").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        }
    }

    #[test]
    fn pipes_are_written_and_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write_bytes(&pipe, b"through the pipe").unwrap();
        assert_eq!(reader.join().unwrap(), b"through the pipe");
        assert_eq!(names_in(folder.path()), ["pipe"]);
    }

    /// Folder permissions are only tested if they apply to this user: root may write everywhere.
    #[test]
    fn files_without_write_permission_are_not_replaced() {
        with_old(|folder, path| {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o555)).unwrap();
            if fs::write(folder.join("probe"), b"").is_ok() {
                eprintln!(
                    "not tested, because root ignores permissions: a folder without write permission"
                );
                let _ = fs::remove_file(folder.join("probe"));
            } else {
                for path in [&path, &folder.join("new")] {
                    let error = write_bytes(path, b"new").unwrap_err();
                    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
                    assert!(!error.to_string().contains(".part"), "{error}");
                }
            }
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"old");
            assert_eq!(names_in(folder), ["old"]);
        });
    }

    #[test]
    fn links_planted_by_other_users_are_not_followed() {
        const STICKY: u32 = 0o41777;
        assert!(target::is_untrusted(7, (STICKY, 0), 8));
        assert!(target::is_untrusted(7, (STICKY, 8), 8), "the user's own folder");
        assert!(!target::is_untrusted(8, (STICKY, 0), 8), "the user's own link");
        assert!(!target::is_untrusted(7, (STICKY, 7), 8), "a link of the folder's owner");
        assert!(
            !target::is_untrusted(7, (0o40777, 0), 8) && !target::is_untrusted(7, (0o41755, 0), 8)
        );
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("out"));
        fs::write(&victim, b"old").unwrap();
        symlink(&victim, &link).unwrap();
        write_bytes(&link, b"through the own link").unwrap();
        assert_eq!(fs::read(&victim).unwrap(), b"through the own link");
        let other = crate::user() + 1;
        if std::os::unix::fs::lchown(&link, Some(other), None).is_err() {
            eprintln!("not tested, because only root can change owners: another user's link");
            return;
        }
        assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
        std::os::unix::fs::chown(folder.path().join("pipe"), Some(other), None).unwrap();
        for (name, what) in [("out", "symbolic link"), ("pipe", "pipe")] {
            let path = folder.path().join(name);
            let error = check_writable(&path).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(write_bytes(&path, b"new").unwrap_err().to_string(), error.to_string());
        }
        assert_eq!(fs::read(&victim).unwrap(), b"through the own link");
    }

    #[test]
    fn endless_input_is_an_error_at_the_limit() {
        let zeros = open(Path::new("/dev/zero")).unwrap();
        let error = read(zeros, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}

#[test]
fn input_up_to_the_limit_is_read_whole() {
    let content: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
    let max = content.len() as u64;
    assert_eq!(read(&content[..], max).unwrap(), content);
    assert_eq!(read(&content[..], max + 1).unwrap(), content);
    let error = read(&content[..], max - 1).unwrap_err();
    assert_eq!(error.to_string(), "it has more than 299999 bytes, the limit");
    assert_eq!(read(&[][..], 0).unwrap(), [0; 0]);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(open(folder.path()).unwrap_err().to_string(), "it is a folder, not a file");
}
