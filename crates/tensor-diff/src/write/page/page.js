
/** Draws the maps of a tensor when it is laid open, once. */
async function open(details) {
  const place = details.querySelector(".maps");
  if (!place || place.dataset.drawn) return;
  place.dataset.drawn = "begun";
  await new Maps(details.id, place).draw();
  place.dataset.drawn = "done";
}

/** Shows one candidate of several. */
function choose(pair) {
  for (const section of document.querySelectorAll(".pair")) section.hidden = section !== pair;
}

/** Opens what the address names. */
function follow() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const pair = named?.closest(".pair");
  if (!pair) return;
  choose(pair);
  if (named.matches("details")) {
    named.open = true;
    named.querySelector("summary").focus({ preventScroll: true });
  }
  named.scrollIntoView();
}

const pairs = [...document.querySelectorAll(".pair")];
choose(pairs.find((pair) => pair.dataset.right === "no") ?? pairs[0]);
for (const details of document.querySelectorAll("details.tensor")) {
  details.addEventListener("toggle", () => details.open && open(details));
  if (details.open && !details.closest("[hidden]")) open(details);
}
for (const link of document.querySelectorAll('a[href^="#"]')) {
  // A link to where the address already points opens it again; of any other the browser tells, once.
  link.addEventListener("click", () => link.hash === location.hash && follow());
}
addEventListener("hashchange", follow);
follow();
