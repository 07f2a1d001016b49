// @ts-check
// The questions of the service, as its OpenAPI document defines them: their inputs, their options, and how a text stands for a value.

import { readSize } from "../sizes.js";

/**
 * @typedef {{name: string, models: string[], takesBytes: boolean, isRequired: boolean, example: any}} Input  `models` are the names of schemas that it may be
 */
/** @typedef {{name: string, schema: any, says: string, value: any}} Option  `value` is the default */
/**
 * @typedef {{name: string, summary: string, help: string, inputs: Input[], options: Option[],
 *   named?: string, view?: View, link?: any}} Question  `named` is the name of the example's file; `link` tells the plans that lead to it
 */

/** @typedef {{x: string, y: string, name: [string, string], unit: [string, string], drawn: string[], is_planned: boolean}} View  a chart of points */

/** Matches a number of bytes with a unit, as the command accepts it. */
const SIZE = /^[0-9.]+ ?[kKMGTPE]i?B?$/;
/** Fields that any file may have, which do not tell its kind. */
const COMMON = ["format", "name"];

/** The questions of a service. */
export class Questions {
  /** @param {any} document  that of OpenAPI */
  constructor(document) {
    this.schemas = document.components.schemas;
    /** @type {Question[]} */
    this.all = Object.entries(document.paths).flatMap(([path, { post }]) => this.questionOf(path, post));
  }

  /** @param {string} path @param {any} post @returns {Question[]} */
  questionOf(path, post) {
    const body = post?.requestBody?.content?.["application/json"];
    const request = choices(body?.schema).map((one) => this.schemas[nameOf(one)]).find((one) => one?.properties?.options?.$ref);
    if (!request || !/^\/v1\/[a-z-]+$/.test(path) || path === "/v1/jobs") return [];
    const example = body.example ?? {};
    const inputs = Object.entries(request.properties).filter(([name]) => name !== "options" && name !== "keep").map(([name, schema]) => ({
      name, models: choices(schema).map(nameOf).filter(Boolean), takesBytes: choices(schema).some((one) => one.contentEncoding === "base64"),
      isRequired: request.required?.includes(name) ?? false, example: example[name],
    }));
    const options = Object.entries(this.schemas[nameOf(request.properties.options)].properties).map(([name, schema]) =>
      ({ name, schema: plain(schema), says: /** @type {any} */ (schema).description ?? "", value: /** @type {any} */ (schema).default }));
    return [{ name: path.slice(4), summary: post.summary, help: post.description ?? "", inputs, named: example.options?.name, view: post["x-view"],
      link: post["x-link"], options: path === "/v1/plan" ? options.filter(({ name }) => name !== "format") : options }];
  }

  /**
   * Return the questions and inputs that accept a JSON value, judged by its field names; questions that require the input come first.
   * @param {any} value @returns {{kind: string, input: string}[]}
   */
  takers(value) {
    return this.all.flatMap((one) => one.inputs.filter((input) => this.isMeant(input, value))
      .map((input) => ({ kind: one.name, input: input.name, isRequired: input.isRequired })))
      .sort((a, b) => Number(b.isRequired) - Number(a.isRequired));
  }

  /** Return true if a JSON value has the field names of one of an input's models. @param {Input} input @param {any} value */
  isMeant({ models }, value) {
    const names = Object.keys(value).filter((name) => !COMMON.includes(name));
    return names.length > 0 && models.some((model) => {
      const { properties = {}, required = [] } = this.schemas[model] ?? {};
      return names.every((name) => name in properties) && required.every((/** @type {string} */ name) => name in value);
    });
  }
}

/** @param {any} schema @returns {any[]} */
function choices(schema) {
  return schema ? [schema, ...(schema.anyOf ?? [])] : [];
}

/** @param {any} schema */
function nameOf(schema) {
  return schema?.$ref?.split("/").at(-1);
}

/** Return a schema without its null alternative. @param {any} schema */
function plain(schema) {
  const some = schema.anyOf?.filter((/** @type {any} */ one) => one.type !== "null");
  return some?.length === 1 ? some[0] : schema;
}

/**
 * Return the value of a field's text; the service checks it. Commas separate list entries, named entries are `name=value`, and JSON is used unchanged.
 * @param {any} schema @param {string} text
 */
export function valueOf(schema, text) {
  const given = text.trim();
  if (/^[[{"]/.test(given)) return JSON.parse(given);
  const parts = (/** @type {string} */ one) => one.split(",").map((part) => part.trim()).filter(Boolean);
  if (schema.type === "array") return parts(given).map((part) => single(schema.items, part));
  if (schema.type !== "object") return single(schema, given);
  return Object.fromEntries(given.split(/,(?=[^,]*=)/).map((part) => {
    const at = part.lastIndexOf("=");
    const text = part.slice(at + 1).trim();
    return [part.slice(0, Math.max(0, at)).trim(), text.includes(",") ? parts(text).map((size) => single(null, size)) : single(null, text)];
  }));
}

/** Return a number if the schema allows one, else the text. @param {any} schema @param {string} text */
function single(schema, text) {
  if (schema?.type === "integer" && SIZE.test(text)) return readSize(text);
  return schema?.type !== "string" && /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}

/** Return a default value as its field shows it. @param {any} value */
export function textOf(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.join(", ");
  return typeof value === "object" ? (Object.keys(value).length ? JSON.stringify(value) : "") : String(value);
}
