// @ts-check
// Files that are dropped on a page.

/** Let files be dropped anywhere. @param {HTMLElement} element @param {(files: File[]) => void} take */
export function droppable(element, take) {
  let depth = 0;
  const mark = (/** @type {number} */ change) => {
    depth = Math.max(0, depth + change);
    element.classList.toggle("dropping", depth > 0);
  };
  element.addEventListener("dragenter", (event) => {
    event.preventDefault();
    mark(1);
  });
  element.addEventListener("dragleave", () => mark(-1));
  element.addEventListener("dragover", (event) => event.preventDefault());
  element.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(-depth);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length) take(files);
  });
}
