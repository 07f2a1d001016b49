// @ts-check
// The calls of the service that the page makes: same origin, the key of this tab, errors as sentences.

import { parsed, written } from "../from_json.js";

const KEY = "memplan-key";
const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 5_000;

/** A call that the service refused, with its sentences and its HTTP status. */
export class Refusal extends Error {
  /** @param {number} status @param {string[]} sentences */
  constructor(status, sentences) {
    super(sentences.join("\n"));
    this.status = status;
    this.sentences = sentences;
  }
}

/** The service behind this page. */
export class PlanService {
  /** @param {(wasRefused: boolean) => Promise<string | null>} askKey  asks for a key; null: none is given */
  constructor(askKey) {
    this.askKey = askKey;
  }

  /**
   * Return the response of a call. Throws a Refusal.
   * @param {string} method @param {string} path @param {{body?: BodyInit, headers?: Record<string, string>, signal?: AbortSignal, isQuiet?: boolean}} [call]
   * @returns {Promise<Response>}
   */
  async call(method, path, call = {}) {
    for (;;) {
      const key = sessionStorage.getItem(KEY);
      const headers = { ...call.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
      const answer = await fetch(path, {
        method, headers, body: call.body, signal: call.signal, cache: "no-store", credentials: "omit", redirect: "error",
      }).catch((error) => {
        if (call.signal?.aborted) throw error;
        throw new Refusal(0, ["service: cannot be reached; is memplan serve still running?"]);
      });
      if (answer.ok) return answer;
      const refusal = await refusalOf(answer);
      if (answer.status !== 401 || call.isQuiet) throw refusal;
      sessionStorage.removeItem(KEY);
      const given = await this.askKey(key !== null);
      if (!given) throw refusal;
      sessionStorage.setItem(KEY, given);
    }
  }

  /** @param {string} path @param {AbortSignal} [signal] */
  async get(path, signal) {
    return parsed(await (await this.call("GET", path, { signal })).text());
  }

  /** Return the result of a call that must not ask for a key; null if the service refuses it. @param {string} path */
  known(path) {
    return this.call("GET", path, { isQuiet: true }).then((answer) => answer.text()).then(parsed, () => null);
  }

  /** @param {string} path @param {any} value @param {Record<string, string>} [headers] @param {string} [method] */
  async post(path, value, headers = {}, method = "POST") {
    return parsed(await (await this.call(method, path, { body: written(value), headers: { "Content-Type": "application/json", ...headers } })).text());
  }

  /** Return the contents of another system's file, and the job that read it; the address of that job also preserves names of operations. @param {File} file */
  async imported(file) {
    const query = new URLSearchParams({ name: file.name.slice(-200), program: "true", time_limit_s: "60" });
    const headers = { "Content-Type": "application/octet-stream" };
    const { id } = parsed(await (await this.call("POST", `/v1/jobs?kind=convert&${query}`, { body: file, headers })).text());
    let job = await this.get(`/v1/jobs/${id}`);
    for (let wait = 50; job.finished_at === null; wait = Math.min(1000, 1.5 * wait)) {
      await new Promise((done) => setTimeout(done, wait));
      job = await this.get(`/v1/jobs/${id}`);
    }
    if (job.state !== "succeeded") throw new Refusal(422, String(job.error ?? `${file.name}: was not read`).split("\n"));
    return { ...await this.get(`/v1/jobs/${id}/result`), job: id };
  }

  /** Submit a job. @param {string} kind @param {any} request  the body of the call */
  submit(kind, request) {
    return this.post(`/v1/jobs?kind=${kind}`, request, { "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()) });
  }

  /** Return the answer of an ended job with its text lines; null if it has none. @param {string} id @param {AbortSignal} [signal] */
  async answered(id, signal) {
    const path = `/v1/jobs/${id}/result`;
    try {
      const lines = await (await this.call("GET", path, { headers: { Accept: "text/plain" }, signal })).text();
      return { value: await this.get(path, signal), lines };
    } catch (error) {
      if (error instanceof Refusal && error.status === 404) return null;
      throw error;
    }
  }

  /** Stop a job. @param {string} id */
  stop(id) {
    return this.call("DELETE", `/v1/jobs/${id}`).then((answer) => answer.text()).then(parsed);
  }

  /** Delete a job that has ended. @param {string} id */
  async forget(id) {
    await this.call("DELETE", `/v1/jobs/${id}?forget=true`);
  }

  /** Rename a job. @param {string} id @param {string} name */
  rename(id, name) {
    return this.post(`/v1/jobs/${id}`, { name }, {}, "PATCH");
  }

  /** Yield the events of a job until it ends. After a lost connection, yield the event `lost` and reconnect. @param {string} id @param {AbortSignal} signal */
  async *events(id, signal) {
    let last = 0;
    for (let wait = FIRST_WAIT_MS; !signal.aborted; wait = Math.min(LONGEST_WAIT_MS, 1.5 * wait)) {
      try {
        const headers = { Accept: "text/event-stream", ...(last ? { "Last-Event-ID": String(last) } : {}) };
        const answer = await this.call("GET", `/v1/jobs/${id}/events`, { headers, signal });
        if (answer.status === 204 || !answer.body) return;
        for await (const event of eventsIn(answer.body)) {
          wait = FIRST_WAIT_MS;
          last = event.id;
          yield event;
          if (event.kind === "finished") return;
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refusal && error.status !== 0 && error.status !== 503) throw error;
      }
      yield { id: last, kind: "lost", data: null };
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

/** @param {Response} answer */
async function refusalOf(answer) {
  const text = await answer.text();
  try {
    const found = JSON.parse(text);
    if (Array.isArray(found.errors) && found.errors.length) return new Refusal(answer.status, found.errors.map(String));
    if (found.detail) return new Refusal(answer.status, [String(found.detail)]);
  } catch {
    // not JSON: the status says what there is to say
  }
  return new Refusal(answer.status, [`service: answered with ${answer.status}`]);
}

/** @param {ReadableStream<Uint8Array>} body  server-sent events */
async function* eventsIn(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  let fields = /** @type {Record<string, string>} */ ({});
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line) {
        const at = line.indexOf(":");
        if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).replace(/^ /, "");
        continue;
      }
      if (fields.data) yield { id: Number(fields.id), kind: fields.event ?? "message", data: parsed(fields.data) };
      fields = {};
    }
  }
}
