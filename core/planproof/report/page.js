"use strict";
// Search without a server: each model carries its words; what does not hold all of the typed ones is hidden.
const box = document.getElementById("q");
const models = Array.from(document.querySelectorAll("details.model"));
const search = () => {
  const typed = box.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const model of models) model.hidden = !typed.every((word) => model.dataset.words.includes(word));
};
if (box) {
  box.addEventListener("input", search);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
    if (event.key === "Escape" && document.activeElement === box) { box.value = ""; search(); }
  });
}
// A link to a model opens it; a printed page shows all that is on it.
const reveal = () => {
  const model = document.getElementById(location.hash.slice(1));
  if (model && model.tagName === "DETAILS") model.open = true;
};
addEventListener("hashchange", reveal);
reveal();
