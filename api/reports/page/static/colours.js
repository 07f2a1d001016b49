// @ts-check
// Colours of buffers: a class (0 to 255) for each by what is asked, and the inks of the classes.

/** @typedef {import("./plan_model.js").PlanModel} PlanModel */
/** @typedef {{of: Uint8Array, legend: {name: string, ink: number}[], inks: Uint8Array}} Colouring */

/** Okabe and Ito's colours, which people with any kind of colour vision can tell apart; grey for the rest. */
const DISTINCT = [0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0x0072b2, 0xd55e00, 0xd8c93a, 0x9a8fd0];
/** From few to many: light steps of one scale from blue over green to yellow, evenly bright (after cividis). */
const SCALE = [0x1f4a7f, 0x3a5f8a, 0x53748f, 0x6b8792, 0x839a92, 0x9cad8e, 0xb6bf85, 0xd1cf77, 0xeddd62, 0xffe945];
const REST = 0x8c8c8c;
const MOVED = { "not moved": 0xc3cad1, moved: 0xf0c9a4, "new here": 0x0072b2, "makes the peak grow": 0xd55e00 };

/** What buffers can be coloured by, in the order of the menu. */
export const COLOUR_BY = ["buffer", "size", "group", "role", "operation", "type", "model", "pool", "moved"];

/**
 * The classes and inks of all buffers by one of COLOUR_BY; null where the plan does not tell it.
 * @param {PlanModel} plan @param {string} by @param {Uint8Array | null} moved  positions in MOVED @returns {Colouring | null}
 */
export function colouring(plan, by, moved) {
  if (by === "size") return bySize(plan);
  if (by === "group") return plan.groups ? byName(plan, plan.groups) : null;
  if (by === "role") return byRole(plan);
  if (by === "operation") return plan.operations ? byName(plan, plan.operations) : null;
  if (by === "type") return plan.types ? byName(plan, elementTypes(plan.types)) : null;
  if (by === "model") return plan.models ? byName(plan, plan.models) : null;
  if (by === "pool") return byPool(plan);
  if (by === "moved") return moved ? named(moved, Object.keys(MOVED), Object.values(MOVED)) : null;
  const of = new Uint8Array(plan.count);
  for (let i = 0; i < of.length; i++) of[i] = i % DISTINCT.length;
  return named(of, [], DISTINCT);
}

/** The ink of a text on a colour: the one of more contrast. @param {Iterable<number>} rgb */
export function inkOn([red, green, blue]) {
  return (0.21 * red ** 2 + 0.72 * green ** 2 + 0.07 * blue ** 2) / 255 ** 2 > 0.21 ? "#101010" : "#ffffff";
}

/** @param {PlanModel} plan */
function bySize(plan) {
  const of = new Uint8Array(plan.count);
  let least = Infinity;
  let most = 0;
  for (const size of plan.size) {
    if (size > 0) least = Math.min(least, size);
    most = Math.max(most, size);
  }
  const low = Math.log2(Math.max(1, least === Infinity ? 1 : least));
  const width = Math.max(1e-9, Math.log2(Math.max(2, most)) - low);
  for (let i = 0; i < of.length; i++) {
    const part = (Math.log2(Math.max(1, plan.size[i])) - low) / width;
    of[i] = Math.max(0, Math.min(SCALE.length - 1, Math.round(part * (SCALE.length - 1))));
  }
  const names = SCALE.map((_, k) => String(Math.round(2 ** (low + (width * k) / (SCALE.length - 1)))));
  if (new Set(names).size > 2) return named(of, names, SCALE);
  return named(of.fill(0), [names[0]], SCALE.slice(4));
}

/** @param {PlanModel} plan */
function byRole(plan) {
  const names = [...plan.roles.names, "alias"];
  const of = Uint8Array.from(plan.roles.of);
  for (let i = 0; i < of.length; i++) if (plan.isAlias(i)) of[i] = names.length - 1;
  return named(of, names, names.map((_, k) => DISTINCT[k % DISTINCT.length]));
}

/** @param {PlanModel} plan */
function byPool(plan) {
  const names = plan.pools.map((pool) => pool.name);
  const of = Uint8Array.from(plan.pool, (q) => (q < 0 ? 0 : q % 256));
  return named(of, names, names.map((_, k) => DISTINCT[k % DISTINCT.length]));
}

/** The types of elements alone, of types with shapes: `int8` of `int8 1x49x10x1`. @param {{of: ArrayLike<number>, names: string[]}} types */
function elementTypes(types) {
  const names = [...new Set(types.names.map((text) => text.split(" ")[0]))];
  const numbers = types.names.map((text) => names.indexOf(text.split(" ")[0]));
  return { of: Array.from(types.of, (k) => numbers[k]), names: names.map((name) => name || "not told") };
}

/** @param {PlanModel} plan @param {{of: ArrayLike<number>, names: string[]}} column */
function byName(plan, column) {
  const count = new Map();
  for (let i = 0; i < plan.count; i++) count.set(column.of[i], (count.get(column.of[i]) ?? 0) + 1);
  const frequent = [...count.keys()].sort((a, b) => count.get(b) - count.get(a)).slice(0, DISTINCT.length);
  const classOf = new Map(frequent.map((name, k) => [name, k]));
  const of = Uint8Array.from({ length: plan.count }, (_, i) => classOf.get(column.of[i]) ?? frequent.length);
  const names = frequent.map((name) => column.names[name]);
  const rest = count.size > frequent.length ? ["others"] : [];
  return named(of, [...names, ...rest], [...DISTINCT.slice(0, names.length), REST]);
}

/** @param {Uint8Array} of @param {string[]} names @param {number[]} rgb @returns {Colouring} */
function named(of, names, rgb) {
  const inks = new Uint8Array(3 * 256);
  for (let k = 0; k < 256; k++) {
    const ink = rgb[k % rgb.length];
    inks.set([ink >> 16, (ink >> 8) & 255, ink & 255], 3 * k);
  }
  return { of, legend: names.map((name, k) => ({ name, ink: rgb[k % rgb.length] })), inks };
}
