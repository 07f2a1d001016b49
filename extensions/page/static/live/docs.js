// @ts-check
// The calls of the service, drawn from its OpenAPI document.

import { h, table } from "../dom.js";

const MOST_LEVELS = 6;

/** Return the JSON form that a schema describes, as lines. @param {any} schema @param {any} document @param {number} level @returns {string} */
export function shape(schema, document, level = 0) {
  const indent = "  ".repeat(level + 1);
  if (!schema || schema === true) return "any";
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    return level >= MOST_LEVELS ? name : shape(document.components?.schemas?.[name], document, level);
  }
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((/** @type {any} */ one) => shape(one, document, level)))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((/** @type {any} */ value) => JSON.stringify(value)).join(" | ");
  if (schema.type === "array") return level >= MOST_LEVELS ? "[…]" : `[${shape(schema.items ?? schema.prefixItems?.[0], document, level)}, …]`;
  if (schema.type === "object" || schema.properties) {
    if (level >= MOST_LEVELS) return "{…}";
    const needed = new Set(schema.required ?? []);
    const rows = Object.entries(schema.properties ?? {}).map(([name, inner]) =>
      `${indent}${JSON.stringify(name)}${needed.has(name) ? "" : "?"}: ${shape(inner, document, level + 1)}`);
    if (!rows.length) return "{…}";
    return `{\n${rows.join(",\n")}\n${"  ".repeat(level)}}`;
  }
  return schema.format ? `${schema.type} (${schema.format})` : String(schema.type ?? "any");
}

/** @param {any} content @param {any} document */
function bodies(content, document) {
  return Object.entries(content ?? {}).flatMap(([media, { schema, example, examples }]) => {
    const shown = example ?? Object.values(examples ?? {})[0]?.value;
    const given = shown === undefined ? [] : [h("p", { class: "quiet" }, "For example:"),
      h("pre", { tabindex: "0" }, typeof shown === "string" ? shown : JSON.stringify(shown, null, 1))];
    return [h("p", {}, h("code", {}, media)), h("pre", { tabindex: "0" }, shape(schema, document)), ...given];
  });
}

/** @param {string} method @param {string} path @param {any} call @param {any} document */
function section(method, path, { summary, description, parameters = [], requestBody, responses = {} }, document) {
  const details = h("details", { id: `${method}${path}`.replace(/[^a-z0-9]+/gi, "-") },
    h("summary", {}, h("span", { class: "method" }, method.toUpperCase()), h("code", {}, path), ` ${summary ?? ""}`));
  details.addEventListener("toggle", () => details.append(
    h("p", {}, description ?? ""),
    ...(parameters.length ? [h("h3", {}, "Query and headers"), table(["name", "in", "what", "type"], parameters.map((/** @type {any} */ one) =>
      [h("span", {}, h("code", {}, one.name), one.required ? " (required)" : ""), one.in, one.description ?? "", shape(one.schema, document)]))] : []),
    ...(requestBody ? [h("h3", {}, "Body"), ...bodies(requestBody.content, document)] : []),
    ...Object.entries(responses).flatMap(([status, answer]) =>
      [h("h3", {}, `${status}: ${answer.description ?? ""}`), ...(status.startsWith("2") ? bodies(answer.content, document) : [])])), { once: true });
  return details;
}

async function draw() {
  const main = /** @type {HTMLElement} */ (document.getElementById("calls"));
  try {
    const found = await (await fetch("openapi.json", { credentials: "omit" })).json();
    main.append(
      h("p", {}, `${found.info.title} ${found.info.version}. ${found.info.description ?? ""}`),
      h("p", {}, h("a", { href: "openapi.json" }, "openapi.json"), " says the same to programs; ",
        h("a", { href: "./" }, "the page"), " shows plans."),
      h("p", { class: "quiet" }, "Where keys are asked for, calls come with Authorization: Bearer KEY."),
      ...Object.entries(/** @type {Record<string, any>} */ (found.paths)).flatMap(([path, calls]) =>
        Object.entries(calls).map(([method, call]) => section(method, path, call, found))));
  } catch (error) {
    main.append(h("p", { role: "alert" }, `openapi.json: cannot be read: ${error}`));
  }
}

draw();
