/** The syntax of Spark SQL expressions (SqlBaseParser.g4, `booleanExpression`), as far as constraints of tables need it. */

import type { DataType } from "../delta/types.ts";
import { CAST_TYPES, numberType } from "./spark-constants.ts";
import { type Token, tokenizeSpark, Untranslatable } from "./spark-lexer.ts";

export type Expression =
  /** `text` as it stands for numbers and strings; of a boolean `true` or `false`. */
  | { kind: "constant"; type: DataType; text: string }
  | { kind: "name"; name: string }
  | { kind: "field"; of: Expression; name: string }
  | { kind: "index"; of: Expression; index: Expression }
  /** A function in lower case, or an operator by its sign or words: `=`, `and`, `||`. */
  | { kind: "call"; name: string; args: readonly Expression[] }
  | {
      kind: "case";
      branches: readonly (readonly [when: Expression, then: Expression])[];
      otherwise: Expression;
    }
  | { kind: "cast"; of: Expression; type: DataType }
  | { kind: "lambda"; parameter: string; body: Expression };

export const NULL: Expression = { kind: "constant", type: "void", text: "NULL" };

/** The binary operators, loosest first: each line binds tighter than the one above it. */
const LEVELS: readonly (readonly string[])[] = [
  ["=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"],
  ["+", "-", "||"],
  ["*", "/", "%", "DIV"],
];
const TYPED_STRINGS: Readonly<Record<string, DataType>> = {
  DATE: "date",
  TIMESTAMP: "timestamp",
  TIMESTAMP_NTZ: "timestamp_ntz",
};

/** Untranslatable where `sql` is no expression, or one with syntax that is not known here. Names are not resolved. */
export function parseSpark(sql: string): Expression {
  const tokens = tokenizeSpark(sql);
  let at = 0;

  const peek = (ahead = 0): Token => tokens[Math.min(at + ahead, tokens.length - 1)]!;
  const isWord = (word: string, ahead = 0) => {
    const token = peek(ahead);
    return token.kind === "word" && token.text.toUpperCase() === word;
  };
  const isMark = (mark: string, ahead = 0) => peek(ahead).kind === "mark" && peek(ahead).text === mark;
  const eatWord = (word: string) => isWord(word) && ++at > 0;
  const eatMark = (mark: string) => isMark(mark) && ++at > 0;
  const unexpected = () =>
    new Untranslatable(
      peek().kind === "end" ? "its end, which comes too early" : `what begins at ${peek().text}`,
    );
  const expectWord = (word: string) => {
    if (!eatWord(word)) throw unexpected();
  };
  const expectMark = (mark: string) => {
    if (!eatMark(mark)) throw unexpected();
  };
  const call = (name: string, ...args: Expression[]): Expression => ({ kind: "call", name, args });
  const negated = (isNot: boolean, expression: Expression) => (isNot ? call("not", expression) : expression);

  function disjunction(): Expression {
    let left = conjunction();
    while (eatWord("OR")) left = call("or", left, conjunction());
    return left;
  }

  function conjunction(): Expression {
    let left = negation();
    while (eatWord("AND")) left = call("and", left, negation());
    return left;
  }

  function negation(): Expression {
    if (eatWord("NOT") || eatMark("!")) return call("not", negation());
    return predicated(binary(0));
  }

  /** What may follow a value, once: `IS`, `IN`, `BETWEEN`, `LIKE`, `RLIKE`. */
  function predicated(value: Expression): Expression {
    if (eatWord("IS")) return test(value, eatWord("NOT"));
    const isNot = (isWord("NOT") || isMark("!")) && ++at > 0;
    if (eatWord("IN")) return negated(isNot, call("in", value, ...list()));
    if (eatWord("BETWEEN")) {
      const low = binary(0);
      expectWord("AND");
      return negated(isNot, call("and", call(">=", value, low), call("<=", value, binary(0))));
    }
    if (eatWord("LIKE")) {
      const pattern = binary(0);
      const sign = eatWord("ESCAPE") ? [primary()] : [];
      return negated(isNot, call("like", value, pattern, ...sign));
    }
    if (eatWord("RLIKE") || eatWord("REGEXP")) return negated(isNot, call("rlike", value, binary(0)));
    if (isNot) throw unexpected();
    return value;
  }

  function test(value: Expression, isNot: boolean): Expression {
    if (eatWord("NULL") || eatWord("UNKNOWN")) return negated(isNot, call("isnull", value));
    if (eatWord("TRUE")) return negated(isNot, call("<=>", value, constant("boolean", "true")));
    if (eatWord("FALSE")) return negated(isNot, call("<=>", value, constant("boolean", "false")));
    expectWord("DISTINCT");
    expectWord("FROM");
    return negated(!isNot, call("<=>", value, binary(0)));
  }

  function binary(level: number): Expression {
    const operators = LEVELS[level];
    if (!operators) return unary();
    let left = binary(level + 1);
    for (;;) {
      const operator = operators.find((sign) => isMark(sign) || isWord(sign));
      if (operator === undefined) return left;
      at++;
      const right = binary(level + 1);
      if (operator === "<>" || operator === "!=") left = call("not", call("=", left, right));
      else left = call(operator === "==" ? "=" : operator.toLowerCase(), left, right);
    }
  }

  function unary(): Expression {
    if (isMark("-") && peek(1).kind === "number") {
      at++;
      return postfix(number("-"));
    }
    if (eatMark("-")) return call("negative", unary());
    if (eatMark("+")) return unary();
    return postfix(primary());
  }

  function postfix(value: Expression): Expression {
    let left = value;
    for (;;) {
      if (eatMark(".")) left = { kind: "field", of: left, name: identifier() };
      else if (eatMark("::")) left = { kind: "cast", of: left, type: typeOfCast() };
      else if (eatMark("[")) {
        left = { kind: "index", of: left, index: binary(0) };
        expectMark("]");
      } else return left;
    }
  }

  function identifier(): string {
    const token = peek();
    if (token.kind !== "word" && token.kind !== "name") throw unexpected();
    at++;
    return token.text;
  }

  function list(): Expression[] {
    expectMark("(");
    const items: Expression[] = [];
    if (eatMark(")")) return items;
    do items.push(argument());
    while (eatMark(","));
    expectMark(")");
    return items;
  }

  function argument(): Expression {
    if (!isMark("->", 1)) return disjunction();
    const parameter = identifier();
    at++;
    return { kind: "lambda", parameter, body: disjunction() };
  }

  function primary(): Expression {
    const token = peek();
    if (token.kind === "number") return number("");
    if (token.kind === "string") {
      at++;
      return constant("string", token.text);
    }
    if (eatMark("(")) {
      const inner = disjunction();
      expectMark(")");
      return inner;
    }
    if (token.kind === "name") return { kind: "name", name: identifier() };
    if (token.kind !== "word") throw unexpected();
    const following = peek(1);
    const typed = TYPED_STRINGS[token.text.toUpperCase()];
    if (typed !== undefined && following.kind === "string") {
      at += 2;
      return constant(typed, following.text);
    }
    if (eatWord("NULL")) return NULL;
    if (eatWord("TRUE")) return constant("boolean", "true");
    if (eatWord("FALSE")) return constant("boolean", "false");
    if (eatWord("CASE")) return cases();
    const isCall = isMark("(", 1);
    if (isCall && eatWord("CAST")) return cast();
    if (isWord("NOT") || following.kind === "string") throw unexpected();
    const name = identifier();
    return isCall ? call(name.toLowerCase(), ...list()) : { kind: "name", name };
  }

  function number(sign: "" | "-"): Expression {
    const token = peek() as Extract<Token, { kind: "number" }>;
    at++;
    const text = `${sign}${token.text}`;
    return constant(numberType(text, token.suffix), text);
  }

  function cases(): Expression {
    const subject = isWord("WHEN") ? undefined : disjunction();
    const branches: [Expression, Expression][] = [];
    while (eatWord("WHEN")) {
      const when = disjunction();
      expectWord("THEN");
      branches.push([subject ? call("=", subject, when) : when, disjunction()]);
    }
    if (branches.length === 0) throw unexpected();
    const otherwise = eatWord("ELSE") ? disjunction() : NULL;
    expectWord("END");
    return { kind: "case", branches, otherwise };
  }

  function cast(): Expression {
    expectMark("(");
    const of = disjunction();
    expectWord("AS");
    const type = typeOfCast();
    expectMark(")");
    return { kind: "cast", of, type };
  }

  function typeOfCast(): DataType {
    const name = identifier().toLowerCase();
    const isDecimal = name === "decimal" || name === "dec" || name === "numeric";
    const type = isDecimal ? decimalType() : CAST_TYPES[name];
    if (type === undefined) throw new Untranslatable(`a cast to ${name}`);
    return type;
  }

  function decimalType(): DataType {
    const digits = () => {
      const token = peek();
      if (token.kind !== "number" || !/^\d{1,2}$/.test(token.text)) throw unexpected();
      at++;
      return Number(token.text);
    };
    if (!eatMark("(")) return "decimal(10,0)";
    const precision = digits();
    const scale = eatMark(",") ? digits() : 0;
    expectMark(")");
    return `decimal(${precision},${scale})`;
  }

  const expression = disjunction();
  if (peek().kind !== "end") throw unexpected();
  return expression;
}

function constant(type: DataType, text: string): Expression {
  return { kind: "constant", type, text };
}
