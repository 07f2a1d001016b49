// @ts-check
// The capabilities of the service, as its OpenAPI document defines them: their inputs, their options, and how a text stands for a value.

import { readSize } from "../sizes.js";

/** @typedef {{name: string, schema: any, isRequired: boolean, example: any}} Input */
/** @typedef {{name: string, schema: any, says: string, value: any}} Option  `value` is the default */
/** @typedef {{name: string, summary: string, help: string, inputs: Input[], options: Option[], named?: string}} Capability  `named` is the name of the example's file */

/** A number of bytes with a unit, as the command takes it. */
const SIZE = /^[0-9.]+ ?[kKMGT]i?B?$/;

/** The capabilities of a document. @param {any} document @returns {Capability[]} */
export function capabilitiesIn(document) {
  const schemas = document.components.schemas;
  return Object.entries(document.paths).flatMap(([path, { post }]) => {
    const body = post?.requestBody?.content?.["application/json"];
    const request = [body?.schema, ...(body?.schema?.anyOf ?? [])].map((one) => schemas[nameOf(one)]).find((one) => one?.properties?.options?.$ref);
    if (!request || !/^\/v1\/[a-z-]+$/.test(path) || path === "/v1/batch" || path === "/v1/jobs") return [];
    const example = body.example ?? {};
    const inputs = Object.entries(request.properties).filter(([name]) => name !== "options" && name !== "keep").map(([name, schema]) =>
      ({ name, schema, isRequired: request.required?.includes(name) ?? false, example: example[name] }));
    const options = Object.entries(schemas[nameOf(request.properties.options)].properties).map(([name, schema]) =>
      ({ name, schema: plain(schema), says: /** @type {any} */ (schema).description ?? "", value: /** @type {any} */ (schema).default }));
    return [{ name: path.slice(4), summary: post.summary, help: post.description ?? "", inputs, named: example.options?.name, options: options.filter(({ name }) => name !== "format" || path !== "/v1/plan") }];
  });
}

/** @param {any} schema */
function nameOf(schema) {
  return schema?.$ref?.split("/").at(-1);
}

/** A schema without the choice of nothing. @param {any} schema */
function plain(schema) {
  const choices = schema.anyOf?.filter((/** @type {any} */ one) => one.type !== "null");
  return choices?.length === 1 ? choices[0] : schema;
}

/** The names of models that an input may be. @param {Input} input */
export function modelsOf({ schema }) {
  return [schema, ...(schema.anyOf ?? [])].map(nameOf).filter(Boolean);
}

/** True where an input may be the bytes of a file. @param {Input} input */
export function takesBytes({ schema }) {
  return [schema, ...(schema.anyOf ?? [])].some((one) => one.contentEncoding === "base64");
}

/**
 * The value that a text of a field stands for; the service says what is wrong with it. Lists are parted by commas, what
 * has names is `name=value`, and JSON is taken as it is.
 * @param {any} schema @param {string} text
 */
export function valueOf(schema, text) {
  const given = text.trim();
  if (/^[[{"]/.test(given)) return JSON.parse(given);
  const parts = () => given.split(",").map((part) => part.trim()).filter(Boolean);
  if (schema.type === "array") return parts().map((part) => single(schema.items, part));
  if (schema.type !== "object") return single(schema, given);
  return Object.fromEntries(parts().map((part) => {
    const at = part.lastIndexOf("=");
    return [part.slice(0, Math.max(0, at)), single(null, part.slice(at + 1))];
  }));
}

/** A number where one may stand, else the text. @param {any} schema @param {string} text */
function single(schema, text) {
  if (schema?.type === "integer" && SIZE.test(text)) return readSize(text);
  return schema?.type !== "string" && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** A default as its field shows it. @param {any} value */
export function textOf(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return typeof value === "object" ? (Object.keys(value).length ? JSON.stringify(value) : "") : String(value);
}
