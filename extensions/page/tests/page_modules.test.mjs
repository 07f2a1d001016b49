// What the page's modules compute, without a browser: `node --test`, with numbers that Python counted in EXPECTED.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const PAGE = "../static/";
const [{ repairText }, { colouredPart, colouring }, { excessOf, demandOf }, { opened }, { PlanModel }, { planOfSchedule }, { readSize }, symbolic, { sizeText },
  { paragraphs }] = await Promise.all(
  ["answer_tables", "colours", "demand", "document", "plan_model", "schedule_plan", "sizes", "symbolic", "text", "live/ask"].map((name) => import(`${PAGE}${name}.js`)));
const expected = JSON.parse(readFileSync(process.env.EXPECTED, "utf8"));

const buffer = (id, size, start, end, more = {}) => ({ id, size, start, end, ...more });
const planned = (buffers, offsets, pools = [{ name: "sram" }]) => new PlanModel({ title: "", problem: { buffers, pools },
  plan: { status: "feasible", placements: buffers.map(({ id }, k) => ({ id, pool: pools[0].name, offset: offsets[k] })) } });
const unplanned = (buffers, pools) => new PlanModel({ title: "", problem: { buffers, pools },
  plan: { status: "infeasible", placements: [], explanation: { message: "pool a lacks bytes", pool: "a", buffers: buffers.map(({ id }) => id) } } });

test("sizes are written as the command writes them, halves to even", () => {
  for (const [bytes, text] of expected.sizes) assert.equal(sizeText(bytes), text);
});

test("sizes are read as the command reads them", () => {
  for (const [text, bytes] of expected.read) {
    if (bytes === null) assert.throws(() => readSize(text), /^Error: size: must be/);
    else assert.equal(String(readSize(text)), bytes);
  }
});

test("rows that were packed as columns are the same rows", () => {
  opened(expected.packed);
  assert.deepEqual(expected.packed, expected.rows);
});

test("pools that together are too small are drawn as one, with what they lack", () => {
  const buffers = [buffer("a", 64, 0, 2), buffer("b", 32, 1, 3)];
  const small = unplanned(buffers, [{ name: "a", size: 40 }, { name: "b", size: 40 }]);
  assert.deepEqual(excessOf(small), { time: 1, bytes: 96, capacity: 80 });
  assert.deepEqual([demandOf(small).sum.name, demandOf(small).sum.size, demandOf(small).core], ["a + b", 80, []]);
  assert.equal(small.verdict.best.isProved, false); // nobody checked the plan
  const large = unplanned(buffers, [{ name: "a", size: 50 }, { name: "b", size: 50 }]);
  assert.deepEqual([excessOf(large), demandOf(large).sum, demandOf(large).core.length], [null, null, 2]);
  assert.equal(excessOf(unplanned(buffers, [{ name: "a", size: 4 }, { name: "b" }])), null);
});

test("layers have colours by their bytes at the peak, and sizes by their areas", () => {
  const buffers = Array.from({ length: 40 }, (_, k) => buffer(`net/l${k >> 1}/${k % 2}`, k === 39 ? 40960 : 16, k, k + 2));
  const plan = planned(buffers, buffers.map((_, k) => (k % 2) * 40960));
  const { legend, of } = colouring(plan, "group", null);
  assert.deepEqual([legend[0].name, legend.length, of[39]], ["l19", 9, 0]);
  // Where eight layers have little of all bytes, up to sixteen have colours, all unlike.
  const wide = Array.from({ length: 40 }, (_, k) => buffer(`net/l${k >> 1}/${k % 2}`, 16, 0, 2));
  const many = colouring(planned(wide, wide.map((_, k) => 16 * k)), "group", null).legend;
  assert.deepEqual([many.length, many[16].name, new Set(many.map(({ ink }) => ink)).size], [17, "4 others", 17]);
  assert.equal(colouredPart(planned(wide, wide.map((_, k) => 16 * k)), "group"), 0.8);
  const sizes = colouring(plan, "size", null);
  assert.deepEqual(sizes.legend.map(({ name }) => name), ["16", "40960"]);
  assert.notEqual(sizes.of[0], sizes.of[39]);
});

test("lifetimes have a colour for each power of four of their steps, and one from end to end", () => {
  const buffers = [buffer("a", 16, 0, 1), buffer("b", 16, 1, 3), buffer("c", 16, 3, 7), buffer("d", 16, 0, 100), buffer("e", 16, 10, 40)];
  const { legend, of } = colouring(planned(buffers, [16, 16, 16, 0, 16]), "lifetime", null);
  assert.deepEqual(legend.map(({ name }) => name), ["up to 1 step", "up to 4 steps", "up to 64 steps", "from end to end"]);
  assert.deepEqual([...of], [0, 1, 1, 3, 2]);
  assert.equal(new Set(legend.map(({ ink }) => ink)).size, 4);
});

test("a schedule is a plan of its slots, which are alive in the steps that use them", () => {
  const slots = [{ kind: "input", tensor: 3, size: 8, start: 0, end: 1, offset: 4 }, { kind: "retained", tensor: 5, size: 4, start: 0, end: 2, offset: 0 }];
  const { problem, plan, names } = planOfSchedule({ slots, capacity: 16, subgraphs: [[0, 1], [2]], subgraph_latencies: [1000, 2.4], link_busy: [0.5, 1] });
  assert.deepEqual(problem.buffers.map(({ start, end }) => [start, end]), [[0, 1], [0, 2]]);
  assert.deepEqual(plan.placements.map(({ id, offset }) => [id, offset]), [["tensor 3: input, slot 0", 4], ["tensor 5: retained, slot 1", 0]]);
  assert.deepEqual(names.steps.map(({ name }) => name), ["ops 0, 1; time 1,000; 50% link", "ops 2; time 2; 100% link"]);
});

test("changes of a repair are said in words", () => {
  assert.equal(repairText({ kind: "in-place", buffers: ["a", "b"] }), "make b in place of a");
  assert.equal(repairText({ kind: "pool", buffers: ["a"], pool: null }), "move a to another memory");
  assert.equal(repairText({ kind: "earlier-end", buffers: ["a"], steps: 2 }), "end a 2 steps earlier");
});

test("the plan at values of symbols is that of Python", () => {
  const { answer, at, problem, peak, bound } = expected.shapes;
  const found = symbolic.plannedAt(answer, symbolic.valuesIn(at, answer.symbols));
  assert.deepEqual([Number(found.peak), Number(found.bound), found.problem.buffers.map(({ size }) => size)], [peak, bound, problem]);
  assert.ok(found.plan.placements.every(({ offset }, k) => offset + found.problem.buffers[k].size <= peak));
  assert.throws(() => symbolic.valuesIn("b=7", answer.symbols), /^Error: n: must be 2 to 2048, got ""/);
  assert.throws(() => symbolic.valuesIn("b=7, n=3, m=1", answer.symbols), /^Error: values: must be of b, n, got m/);
  assert.equal(symbolic.valueAt("2*(n - 9)//4 - -1", { n: 4n }), -2n);
});

test("the lines of a help are one sentence, its paragraphs are apart", () => {
  assert.deepEqual(paragraphs("Plan each\n    combination.\n\nNone is\nworse.\n"), ["Plan each combination.", "None is worse."]);
});
