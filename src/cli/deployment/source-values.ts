/**
 * Which resource an expression of the source stands for, where that is plain: a literal, an object with `apiVersion` and `kind`, or
 * a constant that is one of these, `defineResource({ … })`, `resource( … )`, or a call of a function that returns one of these. Anything
 * else is unknown: nothing is guessed. Pure.
 */
import { findMakers } from './source-makers.ts'
import { afterTypeArguments, closingOf, splitAtCommas, type Token } from './source-tokens.ts'

/** A resource as the source names it. */
export type NamedResource =
  | { readonly type: 'notation'; readonly notation: string | readonly string[] | object }
  | { readonly type: 'kind'; readonly apiVersion: string; readonly kind: string }

/** `const name = expression`, and the brackets that it is in; or a function, as `name()`, with what it returns. */
interface Declaration {
  readonly name: string
  readonly expression: readonly Token[]
  readonly blocks: readonly number[]
  /** The brackets that the expression is in. */
  readonly within: readonly number[]
}

export interface SourceFile {
  /** Relative to the folder of the command. */
  readonly path: string
  readonly tokens: readonly Token[]
  readonly declarations: readonly Declaration[]
  /** The braces that are open at each token. */
  readonly blocks: ReadonlyArray<readonly number[]>
}

export function readSource(path: string, tokens: readonly Token[]): SourceFile {
  const declarations: Declaration[] = []
  const blocks = findBlocks(tokens)
  for (const [position, { type, text }] of tokens.entries()) {
    const isDeclared = type === 'name' && /^(const|let|var)$/.test(tokens[position - 1]?.text ?? '')
    const start = isDeclared ? startOfValue(tokens, position + 1) : undefined
    if (start === undefined) continue
    const within = blocks[position]!
    declarations.push({ name: text, expression: takeExpression(tokens, start), blocks: within, within })
  }
  for (const { name, declaredAt, returnsAt } of findMakers(tokens)) {
    const expression = takeExpression(tokens, returnsAt)
    declarations.push({ name: `${name}()`, expression, blocks: blocks[declaredAt]!, within: blocks[returnsAt]! })
  }
  return { path, tokens, declarations, blocks }
}

/** After `=`, and a type before it. */
function startOfValue(tokens: readonly Token[], from: number): number | undefined {
  for (let position = from; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && text === '=') return position + 1
    if (type === 'mark' && /^[;)]$/.test(text)) return undefined
    if (/^(const|let|var|of|in|return|function)$/.test(text)) return undefined
    if (type === 'mark' && /^[([{]$/.test(text)) position = closingOf(tokens, position)
  }
  return undefined
}

/** A name or a literal, with the brackets of calls after it. What follows is not needed. */
function takeExpression(tokens: readonly Token[], start: number): readonly Token[] {
  let end = start
  if (/^[[{(]$/.test(tokens[start]?.text ?? '') && tokens[start]?.type === 'mark') end = closingOf(tokens, start)
  else {
    while (tokens[end + 1]?.text === '.') end += 2
    const open = afterTypeArguments(tokens, end + 1)
    if (tokens[open]?.text === '(') end = closingOf(tokens, open)
  }
  const next = tokens[end + 1]
  const goesOn = next?.type === 'mark' && /^[.?([+]$|^\?\.$|^\?\?$|^\|\|$|^&&$/.test(next.text)
  return goesOn && next.line === tokens[end]?.line ? [] : tokens.slice(start, end + 1)
}

/** For each position, the chain of the braces that are open there: the outermost first, shared between positions. */
function findBlocks(tokens: readonly Token[]): ReadonlyArray<readonly number[]> {
  const open: Array<readonly number[]> = [[]]
  return tokens.map(({ type, text }, position) => {
    const blocks = open.at(-1)!
    if (type === 'mark' && text === '{') open.push([...blocks, position])
    if (type === 'mark' && text === '}' && open.length > 1) open.pop()
    return blocks
  })
}

/** Where an expression stands: its file, the others, and its own brackets. */
export interface Place {
  readonly file: SourceFile
  readonly files: readonly SourceFile[]
  readonly blocks: readonly number[]
}

/** Constants that stand for each other end somewhere, or are not plain. */
const maxSteps = 5

export function toNamedResource(expression: readonly Token[], place: Place, steps = 0): NamedResource | undefined {
  const tokens = withoutType(expression)
  const [first] = tokens
  if (first === undefined || steps > maxSteps) return undefined
  if (tokens.length === 1 && (first.type === 'string' || first.type === 'template')) {
    return { type: 'notation', notation: first.text }
  }
  if (first.text === '{' && first.type === 'mark') return ofObject(tokens)
  if (first.text === '[' && first.type === 'mark') return ofList(splitAtCommas(tokens.slice(1, -1)))
  if (first.type !== 'name') return undefined
  return ofCall(tokens, place, steps) ?? ofMaker(tokens, place, steps) ?? ofConstant(tokens, place, steps)
}

/** Without `as const`, `satisfies Pod`, or `!`. */
function withoutType(tokens: readonly Token[]): readonly Token[] {
  for (let position = 0; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && /^[([{]$/.test(text)) position = closingOf(tokens, position)
    else if (position > 0 && ((type === 'name' && /^(as|satisfies)$/.test(text)) || text === '!')) {
      return tokens.slice(0, position)
    }
  }
  return tokens
}

/** An object of the cluster, or the keywords of a selector: `{ group: 'apps', plural: 'deployments' }`. */
function ofObject(tokens: readonly Token[]): NamedResource | undefined {
  const fields = literalFields(tokens)
  const { apiVersion, kind, plural } = fields
  const areAllPlain = splitAtCommas(tokens.slice(1, -1)).length === Object.keys(fields).length
  if (plural !== undefined && areAllPlain) return { type: 'notation', notation: fields }
  return apiVersion === undefined || kind === undefined ? undefined : { type: 'kind', apiVersion, kind }
}

function ofList(parts: ReadonlyArray<readonly Token[]>): NamedResource | undefined {
  const texts = parts.map((part) => (part.length === 1 && part[0]!.type === 'string' ? part[0]!.text : undefined))
  if (texts.length === 0 || texts.includes(undefined)) return undefined
  return { type: 'notation', notation: texts.length === 1 ? texts[0]! : (texts as string[]) }
}

/** The fields of an object literal whose values are texts. */
export function literalFields(tokens: readonly Token[]): Readonly<Record<string, string | undefined>> {
  const fields = splitAtCommas(tokens.slice(1, -1)).flatMap(([key, colon, value, ...rest]) => {
    const isPlain = colon?.text === ':' && (value?.type === 'string' || value?.type === 'template')
    return isPlain && withoutType([value, ...rest]).length === 1 ? [[key!.text, value.text] as const] : []
  })
  return Object.fromEntries(fields)
}

/** `defineResource({ … })`, `resource('apps/v1', 'deployments')`, and `adopt(object, owner)`, which returns the object. */
function ofCall(tokens: readonly Token[], place: Place, steps: number): NamedResource | undefined {
  const nameAt = tokens.findIndex(({ text }) => /^(defineResource|resource|adopt)$/.test(text))
  const open = afterTypeArguments(tokens, nameAt + 1)
  const isCall = nameAt >= 0 && tokens[open]?.text === '(' && closingOf(tokens, open) === tokens.length - 1
  if (!isCall || tokens.slice(0, nameAt).some(({ type, text }) => type !== 'name' && text !== '.')) return undefined
  const args = splitAtCommas(tokens.slice(open + 1, -1))
  const name = tokens[nameAt]!.text
  if (name === 'adopt') return toNamedResource(args[0] ?? [], place, steps + 1)
  if (name === 'resource') return args.length === 1 ? toNamedResource(args[0]!, place, steps + 1) : ofList(args)
  const { group, version, kind } = literalFields(args[0] ?? [])
  if (group === undefined || version === undefined || kind === undefined) return undefined
  return { type: 'kind', apiVersion: `${group}/${version}`, kind }
}

/** `deploymentOf( … )`, by what the function of that name returns. */
function ofMaker(tokens: readonly Token[], place: Place, steps: number): NamedResource | undefined {
  const open = tokens.findIndex(({ type, text }) => type === 'mark' && text === '(')
  if (open < 1 || closingOf(tokens, open) !== tokens.length - 1) return undefined
  const last = tokens[open - 1]!
  return ofConstant([...tokens.slice(0, open - 1), { ...last, text: `${last.text}()` }], place, steps)
}

/** By the innermost declaration that can be seen from the place; else by that of another file, if there is only one. */
function ofConstant(tokens: readonly Token[], place: Place, steps: number): NamedResource | undefined {
  const isName = tokens.every(({ type, text }, position) => (position % 2 === 0 ? type === 'name' : text === '.'))
  if (!isName) return undefined
  const name = tokens.at(-1)!.text
  const named = (file: SourceFile) => file.declarations.filter((one) => one.name === name)
  const visible = named(place.file).filter(({ blocks }) => blocks.every((one, depth) => place.blocks[depth] === one))
  const inner = visible.reduce<Declaration | undefined>((best, one) => {
    return best === undefined || one.blocks.length >= best.blocks.length ? one : best
  }, undefined)
  if (inner !== undefined && tokens.length === 1) {
    return toNamedResource(inner.expression, { ...place, blocks: inner.within }, steps + 1)
  }
  const others = place.files.flatMap((file) => {
    return named(file).flatMap((one) => (one.blocks.length === 0 ? [{ file, ...one }] : []))
  })
  if (others.length !== 1) return undefined
  const [{ file, expression, within }] = others as [(typeof others)[number]]
  return toNamedResource(expression, { ...place, file, blocks: within }, steps + 1)
}
