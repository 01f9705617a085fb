const search = document.getElementById("search");
const found = document.getElementById("found");
const links = [...document.querySelectorAll("nav li a")];
let texts;

/* What is searched: the text beside the samples, read when it is first needed. */
function readTexts() {
  texts = links.map((link) => {
    const section = document.getElementById(link.hash.slice(1));
    const about = section && section.querySelector(".about");
    return ((about || section || link).textContent + " " + link.textContent).toLowerCase();
  });
}

function filter() {
  if (!texts) readTexts();
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  links.forEach((link, position) => {
    const matches = words.every((word) => texts[position].includes(word));
    link.parentElement.hidden = !matches;
    if (matches) count += 1;
  });
  for (const list of document.querySelectorAll("nav ul")) {
    const empty = ![...list.children].some((item) => !item.hidden);
    list.hidden = empty;
    list.previousElementSibling.hidden = empty;
  }
  found.textContent = words.length ? `${count} found` : "";
}

search.parentElement.hidden = false;
search.addEventListener("input", filter);
search.addEventListener("keydown", (event) => {
  const first = links.find((link) => !link.parentElement.hidden);
  if (event.key === "Enter" && first) first.click();
  if (event.key === "Escape") {
    search.value = "";
    filter();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    search.focus();
  }
});

/* Samples may be wider than their box. */
for (const sample of document.querySelectorAll("pre")) sample.tabIndex = 0;

/* A button to copy the sample that is shown. */
if (navigator.clipboard) {
  for (const caption of document.querySelectorAll(".request figcaption")) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const shown = [...caption.parentElement.querySelectorAll("pre")].find((pre) => pre.offsetParent);
      await navigator.clipboard.writeText(shown.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    caption.append(button);
  }
}
