// @ts-check
// Elements of the document. Text goes in as text, never as markup; styles go through classes.

/**
 * Return a new element with attributes, listeners (`on...`) and children.
 * @param {string} name @param {Record<string, any>} [attributes] @param {...(Node | string | number | null | undefined | false)} children
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

/** Replace the children of an element. @param {Element} element @param {...(Node | string | number | null | undefined | false)} children */
export function fill(element, ...children) {
  element.replaceChildren(...shown(children));
}

/** @param {(Node | string | number | null | undefined | false)[]} children @returns {(Node | string)[]} */
function shown(children) {
  return children.flatMap((child) => (child === null || child === undefined || child === false ? [] : [typeof child === "number" ? String(child) : child]));
}

/**
 * Return a table with headings and rows of cells; a row may also be an element.
 * @param {(Node | string | false)[]} heads @param {(HTMLElement | any[])[]} rows @param {...Node} first
 */
export function table(heads, rows, ...first) {
  return h("table", {}, ...first, h("thead", {}, h("tr", {}, ...heads.filter((head) => head !== false).map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...rows.map((row) => (Array.isArray(row) ? cells(row) : row))));
}

/** Return a table row with one cell for each value. @param {any[]} values @param {Record<string, any>} [attributes] */
export function cells(values, attributes = {}) {
  return h("tr", attributes, ...values.filter((value) => value !== false).map((value) => h("td", {}, value)));
}

/** Show a dialog until the user closes it. @param {Record<string, any>} attributes @param {...(Node | string | false)} children @returns {HTMLDialogElement} */
export function dialog(attributes, ...children) {
  const found = /** @type {HTMLDialogElement} */ (h("dialog", attributes, ...children));
  found.addEventListener("close", () => found.remove());
  document.body.append(found);
  found.showModal();
  return found;
}

/** Let the user save bytes as a file. @param {Blob} blob @param {string} title @param {string} kind  how its name ends */
export function save(blob, title, kind) {
  const url = URL.createObjectURL(blob);
  const link = h("a", { href: url, download: `${title.replace(/[^\w.-]+/g, "_").slice(0, 60) || "plan"}.${kind}` });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
