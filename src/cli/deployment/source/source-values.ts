/**
 * Finds the resource that an expression in the source refers to: a literal, an object with `apiVersion` and `kind`, `defineResource({ … })`,
 * `resource( … )`, a kind of `kopf/kubernetes`, a constant with one of these, or a call of a function that returns one of these. Other expressions
 * are unknown. Pure.
 */
import { type BuiltinImport, findBuiltinImports } from './builtin-imports.ts'
import { findFactories } from './object-factories.ts'
import { afterTypeArguments, closingOf, type SourceToken, splitAtCommas } from './source-tokens.ts'

/** A resource in the notation of the source. */
export type NamedResource =
  | { readonly type: 'notation'; readonly notation: string | readonly string[] | object }
  | { readonly type: 'kind'; readonly apiVersion: string; readonly kind: string }
  | { readonly type: 'builtin'; readonly kind: string; readonly group: string | undefined }

/** `const name = expression`; or a function, with the name `name()` and the returned expression. */
interface Declaration {
  readonly name: string
  readonly expression: readonly SourceToken[]
  /** The blocks around the declaration. */
  readonly blocks: readonly number[]
  /** The blocks around the expression. */
  readonly within: readonly number[]
}

export interface SourceFile {
  /** Relative to the working directory. */
  readonly path: string
  readonly tokens: readonly SourceToken[]
  readonly declarations: readonly Declaration[]
  /** The imports of built-in kinds. */
  readonly builtins: readonly BuiltinImport[]
  /** The braces that are open at each token. */
  readonly blocks: ReadonlyArray<readonly number[]>
}

export function readSource(path: string, tokens: readonly SourceToken[]): SourceFile {
  const declarations: Declaration[] = []
  const blocks = findBlocks(tokens)
  for (const [position, { type, text }] of tokens.entries()) {
    const isDeclared = type === 'name' && /^(const|let|var)$/.test(tokens[position - 1]?.text ?? '')
    const start = isDeclared ? startOfValue(tokens, position + 1) : undefined
    if (start === undefined) continue
    const within = blocks[position]!
    declarations.push({ name: text, expression: readExpression(tokens, start), blocks: within, within })
  }
  for (const { name, declaredAt, returnsAt } of findFactories(tokens)) {
    const expression = readExpression(tokens, returnsAt)
    declarations.push({ name: `${name}()`, expression, blocks: blocks[declaredAt]!, within: blocks[returnsAt]! })
  }
  return { path, tokens, declarations, builtins: findBuiltinImports(tokens), blocks }
}

/** The position after `=`, which may follow a type. */
function startOfValue(tokens: readonly SourceToken[], from: number): number | undefined {
  for (let position = from; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && text === '=') return position + 1
    if (type === 'mark' && /^[;)]$/.test(text)) return undefined
    if (/^(const|let|var|of|in|return|function)$/.test(text)) return undefined
    if (type === 'mark' && /^[([{]$/.test(text)) position = closingOf(tokens, position)
  }
  return undefined
}

/** A name or a literal, with the brackets of a call after it. Empty if the expression continues after that. */
function readExpression(tokens: readonly SourceToken[], start: number): readonly SourceToken[] {
  let end = start
  if (/^[[{(]$/.test(tokens[start]?.text ?? '') && tokens[start]?.type === 'mark') end = closingOf(tokens, start)
  else {
    while (tokens[end + 1]?.text === '.') end += 2
    const open = afterTypeArguments(tokens, end + 1)
    if (tokens[open]?.text === '(') end = closingOf(tokens, open)
  }
  const next = tokens[end + 1]
  const continues = next?.type === 'mark' && /^[.?([+]$|^\?\.$|^\?\?$|^\|\|$|^&&$/.test(next.text)
  return continues && next.line === tokens[end]?.line ? [] : tokens.slice(start, end + 1)
}

/** For each position, the positions of the open braces around it, the outermost first. The arrays are shared. */
function findBlocks(tokens: readonly SourceToken[]): ReadonlyArray<readonly number[]> {
  const open: Array<readonly number[]> = [[]]
  return tokens.map(({ type, text }, position) => {
    const blocks = open.at(-1)!
    if (type === 'mark' && text === '{') open.push([...blocks, position])
    if (type === 'mark' && text === '}' && open.length > 1) open.pop()
    return blocks
  })
}

/** The context of an expression: its file, all files, and the blocks around it. */
export interface SourcePosition {
  readonly file: SourceFile
  readonly files: readonly SourceFile[]
  readonly blocks: readonly number[]
}

/** The limit for constants that refer to other constants; guards against cycles. */
const maxSteps = 5

export function toNamedResource(
  expression: readonly SourceToken[],
  position: SourcePosition,
  steps = 0,
): NamedResource | undefined {
  const tokens = withoutType(expression)
  const [first] = tokens
  if (first === undefined || steps > maxSteps) return undefined
  if (tokens.length === 1 && (first.type === 'string' || first.type === 'template')) {
    return { type: 'notation', notation: first.text }
  }
  if (first.text === '{' && first.type === 'mark') return fromObject(tokens)
  if (first.text === '[' && first.type === 'mark') return fromList(splitAtCommas(tokens.slice(1, -1)))
  if (first.type !== 'name') return undefined
  return (
    fromCall(tokens, position, steps) ??
    fromFactoryCall(tokens, position, steps) ??
    fromConstant(tokens, position, steps)
  )
}

/** Removes `as const`, `satisfies Pod` and `!`. */
function withoutType(tokens: readonly SourceToken[]): readonly SourceToken[] {
  for (let position = 0; position < tokens.length; position += 1) {
    const { type, text } = tokens[position]!
    if (type === 'mark' && /^[([{]$/.test(text)) position = closingOf(tokens, position)
    else if (position > 0 && ((type === 'name' && /^(as|satisfies)$/.test(text)) || text === '!')) {
      return tokens.slice(0, position)
    }
  }
  return tokens
}

/** A Kubernetes object, or the fields of a selector: `{ group: 'apps', plural: 'deployments' }`. */
function fromObject(tokens: readonly SourceToken[]): NamedResource | undefined {
  const fields = literalFields(tokens)
  const { apiVersion, kind, plural } = fields
  const areAllPlain = splitAtCommas(tokens.slice(1, -1)).length === Object.keys(fields).length
  if (plural !== undefined && areAllPlain) return { type: 'notation', notation: fields }
  return apiVersion === undefined || kind === undefined ? undefined : { type: 'kind', apiVersion, kind }
}

function fromList(parts: ReadonlyArray<readonly SourceToken[]>): NamedResource | undefined {
  const texts = parts.map((part) => (part.length === 1 && part[0]!.type === 'string' ? part[0]!.text : undefined))
  if (texts.length === 0 || texts.includes(undefined)) return undefined
  return { type: 'notation', notation: texts.length === 1 ? texts[0]! : (texts as string[]) }
}

/** The fields of an object literal whose values are string literals. */
export function literalFields(tokens: readonly SourceToken[]): Readonly<Record<string, string | undefined>> {
  const fields = splitAtCommas(tokens.slice(1, -1)).flatMap(([key, colon, value, ...rest]) => {
    const isPlain = colon?.text === ':' && (value?.type === 'string' || value?.type === 'template')
    return isPlain && withoutType([value, ...rest]).length === 1 ? [[key!.text, value.text] as const] : []
  })
  return Object.fromEntries(fields)
}

/** `defineResource({ … })`, `resource('apps/v1', 'deployments')`, and `adopt(object, owner)`, which returns the object. */
function fromCall(tokens: readonly SourceToken[], position: SourcePosition, steps: number): NamedResource | undefined {
  const nameAt = tokens.findIndex(({ text }) => /^(defineResource|resource|adopt)$/.test(text))
  const open = afterTypeArguments(tokens, nameAt + 1)
  const isCall = nameAt >= 0 && tokens[open]?.text === '(' && closingOf(tokens, open) === tokens.length - 1
  if (!isCall || tokens.slice(0, nameAt).some(({ type, text }) => type !== 'name' && text !== '.')) return undefined
  const args = splitAtCommas(tokens.slice(open + 1, -1))
  const name = tokens[nameAt]!.text
  if (name === 'adopt') return toNamedResource(args[0] ?? [], position, steps + 1)
  if (name === 'resource') return args.length === 1 ? toNamedResource(args[0]!, position, steps + 1) : fromList(args)
  const { group, version, kind } = literalFields(args[0] ?? [])
  if (group === undefined || version === undefined || kind === undefined) return undefined
  return { type: 'kind', apiVersion: `${group}/${version}`, kind }
}

/** `deploymentOf( … )`: the resource that the function of this name returns. */
function fromFactoryCall(
  tokens: readonly SourceToken[],
  position: SourcePosition,
  steps: number,
): NamedResource | undefined {
  const open = tokens.findIndex(({ type, text }) => type === 'mark' && text === '(')
  if (open < 1 || closingOf(tokens, open) !== tokens.length - 1) return undefined
  const last = tokens[open - 1]!
  return fromConstant([...tokens.slice(0, open - 1), { ...last, text: `${last.text}()` }], position, steps)
}

/** Uses the innermost visible declaration in the file; otherwise a top-level declaration in another file, if there is exactly one. */
function fromConstant(
  tokens: readonly SourceToken[],
  position: SourcePosition,
  steps: number,
): NamedResource | undefined {
  const isName = tokens.every(({ type, text }, position) => (position % 2 === 0 ? type === 'name' : text === '.'))
  if (!isName) return undefined
  const name = tokens.at(-1)!.text
  const named = (file: SourceFile) => file.declarations.filter((one) => one.name === name)
  const visible = named(position.file).filter(({ blocks }) =>
    blocks.every((one, depth) => position.blocks[depth] === one),
  )
  const inner = visible.reduce<Declaration | undefined>((best, one) => {
    return best === undefined || one.blocks.length >= best.blocks.length ? one : best
  }, undefined)
  if (inner !== undefined && tokens.length === 1) {
    return toNamedResource(inner.expression, { ...position, blocks: inner.within }, steps + 1)
  }
  const imported = inner === undefined ? fromImport(tokens, position.file) : undefined
  if (imported !== undefined) return imported
  const others = position.files.flatMap((file) => {
    return named(file).flatMap((one) => (one.blocks.length === 0 ? [{ file, ...one }] : []))
  })
  if (others.length !== 1) return undefined
  const [{ file, expression, within }] = others as [(typeof others)[number]]
  return toNamedResource(expression, { ...position, file, blocks: within }, steps + 1)
}

/** `Secret` or `kubernetes.Secret`, imported from `kopf/kubernetes`. */
function fromImport(tokens: readonly SourceToken[], { builtins }: SourceFile): NamedResource | undefined {
  const [first, , member] = tokens
  const found = builtins.find(({ name }) => name === first!.text)
  const kind = found?.kind ?? member?.text
  if (found === undefined || kind === undefined || tokens.length !== (found.kind === undefined ? 3 : 1))
    return undefined
  return { type: 'builtin', kind, group: found.group }
}
