// @ts-check
// Tables of buffers in CSV: those that the page saves, and those of MiniMalloc.

/**
 * Return the problem in a table, and the plan if the table has offsets; null for another text. Throws an Error for a wrong row.
 * @param {string} text @returns {{problem: any, plan: any} | null}
 */
export function readCsv(text) {
  const [head, ...rows] = rowsOf(text.replace(/^\ufeff/, ""));
  if (!head || !["id", "size"].every((name) => head.includes(name))) return null;
  const table = rows.filter((row) => row.length > 1 || row[0]).map((row) => Object.fromEntries(head.map((name, k) => [name, row[k] ?? ""])));
  const isWhole = table.length > 0 && table[0].id === "" && table[0].size === "" && table[0].rest;
  const closed = head.includes("end") && !head.includes("upper") ? { interval: "closed" } : {};
  const problem = { ...(isWhole ? JSON.parse(table[0].rest) : {}), ...closed, buffers: table.slice(isWhole ? 1 : 0).map(bufferOf) };
  const placements = table.slice(isWhole ? 1 : 0).flatMap((row, k) => {
    const offset = row.placed || row.offset;
    return offset ? [{ id: problem.buffers[k].id, pool: row.pool || problem.pools?.[0]?.name || "default", offset: whole(offset, k, "offset") }] : [];
  });
  return { problem, plan: placements.length ? { status: "feasible", placements } : null };
}

/** @param {Record<string, string>} row @param {number} k */
function bufferOf(row, k) {
  const rest = row.rest ? JSON.parse(row.rest) : {};
  const [start, end] = [row.lower || row.start, row.upper || row.end];
  const ends = [start, ...(row.gaps ? row.gaps.split(" ").flatMap((gap) => (/^(-?\d+)-(-?\d+)$/.exec(gap) ?? []).slice(1)) : []), end];
  const pairs = ends.filter((_, at) => at % 2 === 0).map((from, at) => [whole(from, k, "lower"), whole(ends[2 * at + 1], k, "upper")]);
  return {
    id: row.id.replace(/^'(?='*[=+\-@\t\r])/, ""), size: whole(row.size, k, "size"), ...(start ? { lifetimes: pairs } : {}),
    ...(row.alignment ? { alignment: whole(row.alignment, k, "alignment") } : {}), ...(row.alias_of ? { alias_of: row.alias_of } : {}),
    ...(row.alias_offset ? { alias_offset: whole(row.alias_offset, k, "alias_offset") } : {}), ...rest,
  };
}

/** @param {string} text @param {number} k @param {string} name */
function whole(text, k, name) {
  if (!/^-?\d+$/.test(text ?? "")) throw new Error(`buffers[${k}].${name}: must be an integer, got ${JSON.stringify(text)}`);
  return Number.isSafeInteger(Number(text)) ? Number(text) : BigInt(text);
}

/** Return the rows of a table, including quoted cells. @param {string} text */
function rowsOf(text) {
  const rows = [[""]];
  let isQuoted = false;
  for (const part of text.match(/""|"|,|\r?\n|[^",\r\n]+|\r/g) ?? []) {
    const row = rows[rows.length - 1];
    if (part === '"') isQuoted = !isQuoted;
    else if (part === '""') row[row.length - 1] += isQuoted ? '"' : "";
    else if (part === "," && !isQuoted) row.push("");
    else if (/^\r?\n$/.test(part) && !isQuoted) rows.push([""]);
    else row[row.length - 1] += part;
  }
  return rows;
}
