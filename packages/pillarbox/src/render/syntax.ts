import { ParseError, type Template, type TopLevelToken, TypeGuards, Value } from 'liquidjs'

/**
 * Throws for what liquidjs reads in part and leaves the rest of: nobody who writes `{{name, your {{x}}` or
 * `{% if x == %}` means what would be sent.
 */
export function refuseUnclosed(token: TopLevelToken): void {
  if (TypeGuards.isHTMLToken(token) || (TypeGuards.isTagToken(token) && token.name === '#')) return
  const [opens, closes] = TypeGuards.isTagToken(token) ? ['{%', '%}'] : ['{{', '}}']
  const within = token.getText().slice(2)
  const [next] = /\{[{%]/.exec(within.replaceAll(/"[^"]*"|'[^']*'/g, '')) ?? []
  if (next !== undefined)
    throw new ParseError(new Error(`${opens} is not closed before the next ${next}: add ${closes}`), token)
}

/** The values that a part works out: each operator needs its operands, and two values need something between them. */
export function refuseIncomplete(part: Template): void {
  for (const argument of part.arguments?.() ?? [])
    if (argument instanceof Value) refuseIncompleteExpression(argument.initial.postfix)
}

type ExpressionTokens = Value['initial']['postfix']

function refuseIncompleteExpression(postfix: ExpressionTokens): void {
  const operands: ExpressionTokens = []
  for (const token of postfix) {
    if (!TypeGuards.isOperatorToken(token)) {
      operands.push(token)
      continue
    }
    const needed = token.operator === 'not' ? 1 : 2
    if (operands.length < needed)
      throw new ParseError(new Error(`"${token.operator}" has no value to go with it`), token)
    operands.splice(-needed, needed, token)
  }
  const [, second] = operands
  if (second)
    throw new ParseError(
      new Error(`unexpected ${second.getText()}: an operator or a filter is missing before it`),
      second,
    )
}
