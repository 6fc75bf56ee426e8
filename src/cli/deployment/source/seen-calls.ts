/**
 * Finds calls of the handlers' `client` in the source of the operator, for the remarks of `kopf manifests`. Detects calls on the name `client`
 * and on its aliases. Does not follow a client that is passed to a function under another name. Pure.
 */

import { parseGroupVersion } from '../../../kube/objects.ts'
import type { Resource } from '../../../kube/resources/resources.ts'
import { selectResources, toSelector } from '../../../kube/resources/selectors.ts'
import { canHaveCustomResources } from '../../../kube/resources/well-known.ts'
import { afterTypeArguments, closingOf, type SourceToken, splitAtCommas } from './source-tokens.ts'
import { literalFields, type NamedResource, type SourceFile, toNamedResource } from './source-values.ts'

/** The RBAC verbs of each client method. An apply creates a missing object. */
const verbsOf: Readonly<Record<string, readonly string[]>> = {
  get: ['get'],
  list: ['list'],
  watch: ['list', 'watch'],
  create: ['create'],
  patch: ['patch'],
  apply: ['patch', 'create'],
  replace: ['update'],
  delete: ['delete'],
}

/** A call whose resource is known. */
export interface SeenCall {
  readonly resource: Resource
  /** May include a subresource: `deployments/scale`. */
  readonly plural: string
  readonly verbs: readonly string[]
  /** `operator.ts:12`. */
  readonly where: string
}

/** A call whose resource is not known. */
interface UnclearCall {
  /** `client.list(kind, …)`. */
  readonly text: string
  readonly where: string
}

export interface SeenCalls {
  readonly clear: readonly SeenCall[]
  readonly unclear: readonly UnclearCall[]
}

interface FoundCall {
  readonly method: string
  readonly args: ReadonlyArray<readonly SourceToken[]>
  readonly position: number
  readonly line: number
}

export function findClientCalls(files: readonly SourceFile[], known: readonly Resource[]): SeenCalls {
  const [clear, unclear]: [SeenCall[], UnclearCall[]] = [[], []]
  for (const file of files) {
    for (const call of findCalls(file.tokens)) {
      const where = `${file.path}:${call.line}`
      const sourcePosition = { file, files, blocks: file.blocks[call.position]! }
      const named = toNamedResource(call.args[0] ?? [], sourcePosition)
      const resource = named && findResource(named, known)
      if (resource === undefined) unclear.push({ text: describe(call), where })
      else clear.push({ resource, plural: pluralOf(resource, call), verbs: verbsOf[call.method]!, where })
    }
  }
  return { clear, unclear }
}

function findCalls(tokens: readonly SourceToken[]): FoundCall[] {
  const receivers = new Set(['client', '#client', ...aliasesOf(tokens)])
  return tokens.flatMap(({ type, text, line }, position) => {
    if (type !== 'name' || !receivers.has(text) || !/^\??\.$/.test(tokens[position + 1]?.text ?? '')) return []
    const method = tokens[position + 2]?.text ?? ''
    const open = afterTypeArguments(tokens, position + 3)
    if (!Object.hasOwn(verbsOf, method) || tokens[open]?.text !== '(') return []
    const args = splitAtCommas(tokens.slice(open + 1, closingOf(tokens, open)))
    return args.length === 0 ? [] : [{ method, args, position, line }]
  })
}

/** `{ client: api }` and `const api = args.client`. */
function aliasesOf(tokens: readonly SourceToken[]): string[] {
  return tokens.flatMap(({ type, text }, position) => {
    const [before, after] = [tokens[position - 1], tokens[position + 1]]
    if (type !== 'name' || text !== 'client') return []
    const isRenamed = after?.text === ':' && /^[,}]$/.test(tokens[position + 3]?.text ?? '')
    if (isRenamed && tokens[position + 2]?.type === 'name') return [tokens[position + 2]!.text]
    const equals = before?.text === '.' ? position - 3 : position - 1
    const isAssigned = tokens[equals]?.text === '=' && !/^[.(]$|^\?\.$/.test(after?.text ?? '')
    return isAssigned && tokens[equals - 1]?.type === 'name' ? [tokens[equals - 1]!.text] : []
  })
}

function findResource(named: NamedResource, known: readonly Resource[]): Resource | undefined {
  if (named.type === 'kind') {
    const { group, version } = parseGroupVersion(named.apiVersion) ?? {}
    return known.find((one) => one.group === group && one.version === version && one.kind === named.kind)
  }
  if (named.type === 'builtin') return findBuiltin(named, known)
  try {
    const { selected } = selectResources(toSelector(named.notation as never), known)
    return selected.length === 1 ? selected[0] : undefined
  } catch {
    return undefined
  }
}

/** `kopf/kubernetes` has each kind once: `Event` is that of the core group. */
function findBuiltin({ kind, group }: { kind: string; group: string | undefined }, known: readonly Resource[]) {
  const found = known.filter((one) => {
    const folder = one.group === '' ? 'core' : one.group.split('.')[0]
    return one.kind === kind && !canHaveCustomResources(one.group) && (group === undefined || group === folder)
  })
  return found.find((one) => one.group === '') ?? found[0]
}

function pluralOf({ plural }: Resource, { args }: FoundCall): string {
  const options = args.slice(1).findLast(([first]) => first?.text === '{')
  const subresource = options && literalFields(options)['subresource']
  return subresource === undefined ? plural : `${plural}/${subresource}`
}

/** The call with its first argument, which is abbreviated if it is long. */
function describe({ method, args }: FoundCall): string {
  const [first = []] = args
  const words = first.map(({ type, text }) => (type === 'string' ? `'${text}'` : text))
  const text = words.join(' ').replace(/ ?([^\w\s']+) ?/g, (_, mark: string) => (mark === ',' ? ', ' : mark))
  const isShort = text.length <= 40 && !text.includes('`')
  return `client.${method}(${isShort ? text : '…'}${args.length > 1 ? ', …' : ''})`
}
