/** A statement laid out in lines, a clause each. Only white space changes, and only where it means nothing. Pure. */

import { tokensOf } from "./sql-tokens.js";

/** @typedef {import("./sql-tokens.js").Token} Token */
/** What stands in brackets; `isQuery` where that is a statement. @typedef {{ open: Token, nodes: Node[], close: Token, isQuery: boolean }} Group */
/** @typedef {Token | Group} Node */

const WIDTH = 88;
const STEP = 2;
const CLOSING = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
]);
const BEGINS_QUERY = new Set(["SELECT", "WITH", "FROM", "VALUES"]);
const CLAUSES = new Set(
  "SELECT FROM WHERE GROUP HAVING QUALIFY WINDOW ORDER LIMIT OFFSET UNION EXCEPT INTERSECT VALUES JOIN".split(
    " ",
  ),
);
const BEFORE_JOIN = new Set("NATURAL ASOF POSITIONAL CROSS INNER LEFT RIGHT FULL OUTER SEMI ANTI".split(" "));
const BY_CONDITION = new Set(["WHERE", "HAVING", "QUALIFY", "JOIN"]);

/** Brackets in brackets beyond this are not laid out. */
const DEEPEST = 100;

/** Null where a text, a comment or a bracket does not end, brackets do not match, or they are nested beyond all reason. @param {string} sql */
export function layOut(sql) {
  const found = tokensOf(sql);
  const nodes = found === null ? null : nest(found.tokens);
  return nodes === null ? null : linesOf(nodes, 0).join("\n");
}

/** @param {readonly Token[]} tokens @returns {Node[] | null} */
function nest(tokens) {
  /** @type {{ open: Token | null, nodes: Node[] }[]} */
  const levels = [{ open: null, nodes: [] }];
  for (const token of tokens) {
    const level = /** @type {{ open: Token | null, nodes: Node[] }} */ (levels.at(-1));
    if (token.kind !== "mark" || !/[()[\]{}]/.test(token.text)) level.nodes.push(token);
    else if (CLOSING.has(token.text)) {
      if (levels.push({ open: token, nodes: [] }) > DEEPEST) return null;
    } else {
      const { open, nodes } = level;
      if (open === null || CLOSING.get(open.text) !== token.text) return null;
      levels.pop();
      const first = nodes.find((node) => !isComment(node));
      const isQuery = open.text === "(" && first !== undefined && BEGINS_QUERY.has(wordOf(first));
      levels.at(-1)?.nodes.push({ open, nodes, close: token, isQuery });
    }
  }
  return levels.length === 1 ? (levels[0]?.nodes ?? []) : null;
}

/** A statement as lines. @param {readonly Node[]} nodes @param {number} indent @returns {string[]} */
function linesOf(nodes, indent) {
  return clausesOf(nodes).flatMap((clause) => {
    const remarks = clause.findIndex((node) => !isComment(node));
    const lead = clause.slice(0, remarks < 0 ? clause.length : remarks);
    return [
      ...lead.map((node) => pad(indent) + textOf(node)),
      ...clauseLines(clause.slice(lead.length), indent),
    ];
  });
}

/** On one line where it fits, else with each of its parts on a line. @param {readonly Node[]} clause @param {number} indent @returns {string[]} */
function clauseLines(clause, indent) {
  if (clause.length === 0) return [];
  if (fits(clause, indent)) return [pad(indent) + flat(clause)];
  const head = headOf(clause);
  const isByCondition = BY_CONDITION.has(wordOf(clause[head - 1]));
  const [first = [], ...rest] = split(clause.slice(head), isByCondition ? isConjunction : isComma);
  const begin = clause.slice(0, head);
  const lines = rest.flatMap((part) => piece(part, indent + STEP));
  if (isByCondition || rest.length === 0 || head === 0)
    return [...piece([...begin, ...first], indent), ...lines];
  return [pad(indent) + flat(begin), ...piece(first, indent + STEP), ...lines];
}

/** Each clause, behind the comments that stand above it. @param {readonly Node[]} nodes @returns {Node[][]} */
function clausesOf(nodes) {
  /** @type {Node[][]} */
  const clauses = [[]];
  nodes.forEach((node, n) => {
    let next = n;
    if (isAlone(node)) while (isComment(nodes[next])) next += 1;
    const begins = next === nodes.length || isClause(nodes, next);
    if (begins && !clauses.at(-1)?.every(isComment)) clauses.push([]);
    clauses.at(-1)?.push(node);
  });
  return clauses;
}

/** A comment that begins a line. @param {Node | undefined} node */
const isAlone = (node) => isComment(node) && /[\n\r]/.test(node.gap);

/** @param {readonly Node[]} nodes @param {number} n */
function isClause(nodes, n) {
  const word = wordOf(nodes[n]);
  const before = nodes[n - 1];
  if (before !== undefined && (textOf(before) === "." || ["AS", "DISTINCT"].includes(wordOf(before))))
    return false;
  if (!mayPart(before, nodes[n])) return false;
  if (BEFORE_JOIN.has(word)) {
    if (BEFORE_JOIN.has(wordOf(before))) return false;
    let next = n;
    while (BEFORE_JOIN.has(wordOf(nodes[next]))) next += 1;
    return wordOf(nodes[next]) === "JOIN";
  }
  return CLAUSES.has(word) && !(word === "JOIN" && BEFORE_JOIN.has(wordOf(before)));
}

/** How many nodes the name of a clause takes. @param {readonly Node[]} clause */
function headOf(clause) {
  let head = 0;
  while (BEFORE_JOIN.has(wordOf(clause[head]))) head += 1;
  const word = wordOf(clause[head]);
  if (word === "WITH") return head + 1;
  if (!CLAUSES.has(word)) return 0;
  return head + (wordOf(clause[head + 1]) === "BY" ? 2 : 1);
}

/** @param {readonly Node[]} nodes @param {(nodes: readonly Node[], n: number) => "before" | "after" | null} at @returns {Node[][]} */
function split(nodes, at) {
  /** @type {Node[][]} */
  const parts = [[]];
  let isDue = false;
  nodes.forEach((node, n) => {
    const where = at(nodes, n);
    // What is said of a part behind its comma, in the same line, stays there.
    const isRemark = isComment(node) && !/[\n\r]/.test(node.gap);
    if (where === "before" || (isDue && !isRemark)) {
      parts.push([]);
      isDue = false;
    }
    parts.at(-1)?.push(node);
    if (where === "after") isDue = true;
  });
  return parts.filter((part) => part.length > 0);
}

/** @param {readonly Node[]} nodes @param {number} n */
const isComma = (nodes, n) => (textOf(nodes[n]) === "," ? "after" : null);

/** AND, OR, ON; not the AND of BETWEEN, and none within CASE. @param {readonly Node[]} nodes @param {number} n */
function isConjunction(nodes, n) {
  const word = wordOf(nodes[n]);
  if (!["AND", "OR", "ON"].includes(word) || !mayPart(nodes[n - 1], nodes[n])) return null;
  let cases = 0;
  let betweens = 0;
  for (const node of nodes.slice(0, n)) {
    const one = wordOf(node);
    cases += one === "CASE" ? 1 : one === "END" ? -1 : 0;
    betweens += one === "BETWEEN" ? 1 : one === "AND" && betweens > 0 ? -1 : 0;
  }
  return cases > 0 || (word === "AND" && betweens > 0) ? null : "before";
}

/** Part of a clause as lines; statements in brackets hang from `indent`. @param {readonly Node[]} nodes @param {number} indent @returns {string[]} */
function piece(nodes, indent) {
  const lines = [pad(indent)];
  const put = (/** @type {string} */ text) => {
    lines[lines.length - 1] += text;
  };
  nodes.forEach((node, n) => {
    const before = nodes[n - 1];
    if (before !== undefined && mustBreak(before, node))
      lines.push(pad(nodes.slice(0, n).every(isComment) ? indent : indent + STEP));
    else if (before !== undefined) put(between(before, node));
    if (!("open" in node) || fits([node], indent)) put(flat([node]));
    else {
      put(node.open.text);
      const within = node.isQuery
        ? linesOf(node.nodes, indent + STEP)
        : split(node.nodes, isComma).flatMap((part) => piece(part, indent + STEP));
      lines.push(...within, pad(indent) + node.close.text);
    }
  });
  return lines;
}

/** @param {readonly Node[]} nodes @param {number} indent */
const fits = (nodes, indent) => !isBroken(nodes) && indent + flat(nodes).length <= WIDTH;

/** Holds what cannot be on one line. @param {readonly Node[]} nodes @returns {boolean} */
const isBroken = (nodes) =>
  nodes.some(
    (node, n) =>
      (n > 0 && mustBreak(/** @type {Node} */ (nodes[n - 1]), node)) ||
      ("open" in node &&
        (node.isQuery || isBroken(node.nodes) || node.nodes.some((one) => kindOf(one) === "line"))),
  );

/**
 * A line comment ends its line, and a comment that begins a line goes on to; texts that are one, as a line is between them, stay so.
 * @param {Node} before @param {Node} node
 */
const mustBreak = (before, node) =>
  kindOf(before) === "line" ||
  (/[\n\r]/.test(gapOf(node)) &&
    (isComment(node) ||
      kindOf(before) === "block" ||
      (kindOf(before) === "text" && kindOf(node) === "text")));

/** @param {readonly Node[]} nodes @returns {string} */
const flat = (nodes) =>
  nodes
    .map((node, n) => {
      const own = "open" in node ? `${node.open.text}${flat(node.nodes)}${node.close.text}` : node.text;
      return n === 0 ? own : between(/** @type {Node} */ (nodes[n - 1]), node) + own;
    })
    .join("");

/** @param {Node} before @param {Node} node */
function between(before, node) {
  if (textOf(node) === "," && !isComment(before)) return "";
  return textOf(before) === "," || gapOf(node) !== "" ? " " : "";
}

/** White space parts them already, or means nothing there. @param {Node | undefined} before @param {Node | undefined} node */
const mayPart = (before, node) => before === undefined || textOf(before) === "," || gapOf(node) !== "";
/** @param {number} indent */
const pad = (indent) => " ".repeat(indent);
/** @param {Node | undefined} node */
const kindOf = (node) => (node === undefined || "open" in node ? null : node.kind);
/** @param {Node | undefined} node @returns {node is Token} */
const isComment = (node) => kindOf(node) === "line" || kindOf(node) === "block";
/** @param {Node | undefined} node */
const textOf = (node) => (node === undefined || "open" in node ? "" : node.text);
/** @param {Node | undefined} node */
const wordOf = (node) => (kindOf(node) === "word" ? textOf(node).toUpperCase() : "");
/** @param {Node | undefined} node */
const gapOf = (node) => (node === undefined ? "" : "open" in node ? node.open.gap : node.gap);
