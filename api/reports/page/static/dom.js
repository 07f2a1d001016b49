// @ts-check
// Elements of the document. Text goes in as text, never as markup; styles go through classes.

/**
 * An element with attributes, listeners (`on...`), and children.
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElement}
 */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") /** @type {any} */ (element)[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...shown(children));
  return element;
}

/** Put children in the place of those that an element has. @param {Element} element @param {...(Node | string | number | null | undefined | false)} children */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
}

/** @param {(Node | string | number | null | undefined | false)[]} children @returns {(Node | string)[]} */
function shown(children) {
  /** @type {(Node | string)[]} */
  const found = [];
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    found.push(typeof child === "number" ? String(child) : child);
  }
  return found;
}

/** Offer bytes as a file to save. @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
