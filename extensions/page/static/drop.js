// @ts-check
// Files that are dropped on a page.

/** Let the user drop files anywhere on the page. @param {HTMLElement} element @param {(files: File[]) => void} take */
export function droppable(element, take) {
  const mark = (/** @type {DragEvent} */ event, /** @type {boolean} */ isOver) => {
    event.preventDefault();
    element.classList.toggle("dropping", isOver);
  };
  element.addEventListener("dragover", (event) => mark(event, true));
  element.addEventListener("dragleave", (event) => mark(event, event.relatedTarget !== null));
  element.addEventListener("drop", (event) => {
    mark(event, false);
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length) take(files);
  });
}
