// @ts-check
// Search by name: a part of it, or a pattern between slashes.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */

/** The hits of a search in order of time, and the current hit. */
export class Search {
  /** @param {PlanModel} plan */
  constructor(plan) {
    this.plan = plan;
    /** @type {number[]} */ this.hits = [];
    this.at = -1;
    this.text = "";
    /** @type {string | null} */ this.wrong = null;
  }

  /** Find the buffers whose names contain a text, or match `/pattern/`. @param {string} text */
  find(text) {
    if (text === this.text) return;
    this.text = text;
    this.at = -1;
    this.hits = [];
    this.wrong = null;
    if (!text) return;
    const matches = this.matcher(text);
    if (!matches) return;
    const { plan } = this;
    for (let i = 0; i < plan.count; i++) if (matches(String(plan.ids[i]))) this.hits.push(i);
    this.hits.sort((a, b) => plan.birth(a) - plan.birth(b) || a - b);
    const whole = this.hits.findIndex((i) => String(plan.ids[i]) === text);
    if (whole > 0) this.hits.unshift(...this.hits.splice(whole, 1));
  }

  /** @param {string} text @returns {((name: string) => boolean) | null} */
  matcher(text) {
    const pattern = /^\/(.+)\/$/.exec(text);
    if (!pattern) {
      const part = text.toLowerCase();
      return (name) => name.toLowerCase().includes(part);
    }
    try {
      const expression = new RegExp(pattern[1], "i");
      return (name) => expression.test(name.slice(0, 2000));
    } catch (error) {
      this.wrong = `pattern: ${error instanceof Error ? error.message : error}`;
      return null;
    }
  }

  /** Return the next or previous hit; -1 if there is none. @param {1 | -1} step */
  next(step) {
    if (!this.hits.length) return -1;
    this.at = this.at < 0 && step < 0 ? this.hits.length - 1 : (this.at + step + this.hits.length) % this.hits.length;
    return this.hits[this.at];
  }

  /** Return 1 for each buffer that was found; null without a search. @returns {Uint8Array | null} */
  mask() {
    if (!this.text || this.wrong) return null;
    const found = new Uint8Array(this.plan.count);
    for (const i of this.hits) found[i] = 1;
    return found;
  }

  get told() {
    if (this.wrong) return this.wrong;
    if (!this.text) return "";
    if (!this.hits.length) return "nothing found";
    return this.at < 0 ? `${this.hits.length} found` : `${this.at + 1} of ${this.hits.length}`;
  }
}
