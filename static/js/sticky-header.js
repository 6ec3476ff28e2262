// The height of the header, below which toolbars stick: a notice or a long name makes it higher.
const header = document.querySelector(".site-header");
new ResizeObserver(() => {
  document.documentElement.style.setProperty("--header-height", `${header.offsetHeight}px`);
}).observe(header);
