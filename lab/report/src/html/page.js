"use strict";
// The theme follows the system until the reader chooses one with the button.
{
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (system.matches ? "dark" : "light");
  const label = () => { button.textContent = theme() === "dark" ? "light" : "dark"; };
  // Browsers may refuse storage to a page opened from disk.
  const remember = (value) => { try { localStorage.setItem("chronoscope-theme", value); } catch { /* not remembered */ } };
  try {
    const known = localStorage.getItem("chronoscope-theme");
    if (known === "light" || known === "dark") root.dataset.theme = known;
  } catch { /* the system decides */ }
  button.hidden = false;
  button.setAttribute("aria-label", "change between light and dark");
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    remember(root.dataset.theme);
    label();
  });
  system.addEventListener("change", label);
  label();
}
// Tips of marks: shown under the pointer, and by the arrow keys in the focused chart.
{
  const tip = document.getElementById("tip");
  let current = null;
  const hide = () => {
    if (current) current.classList.remove("at");
    current = null;
    tip.hidden = true;
  };
  const show = (mark) => {
    hide();
    current = mark;
    mark.classList.add("at");
    tip.textContent = mark.dataset.t;
    tip.hidden = false;
    const at = mark.getBoundingClientRect(), own = tip.getBoundingClientRect();
    const left = Math.min(Math.max(4, at.left + at.width / 2 - own.width / 2), innerWidth - own.width - 4);
    const above = at.top - own.height - 8;
    tip.style.left = `${left}px`;
    tip.style.top = `${above > 4 ? above : at.bottom + 8}px`;
  };
  document.addEventListener("pointerover", (event) => {
    const mark = event.target.closest("[data-t]");
    if (mark) show(mark); else if (current) hide();
  });
  document.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const chart = event.target.closest("svg");
    if (event.key === "Escape") hide();
    if (!step || !chart) return;
    const marks = [...chart.querySelectorAll("[data-t]")];
    if (!marks.length) return;
    const now = marks.indexOf(current);
    show(marks[now < 0 ? (step > 0 ? 0 : marks.length - 1) : (now + step + marks.length) % marks.length]);
    event.preventDefault();
  });
  document.addEventListener("focusout", hide);
  addEventListener("scroll", hide, { passive: true });
}
// When printing, reasons and evidence are unfolded; the tables of numbers stay folded.
addEventListener("beforeprint", () => document.querySelectorAll("details.evidence, details.reasons").forEach((one) => { one.open = true; }));
