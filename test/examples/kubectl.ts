/**
 * The subset of kubectl that the READMEs of examples use, so that tests need nothing but Node. Its output is the same as that of
 * kubectl: the same READMEs are compared with kubectl itself on a real cluster.
 */
import type { Question, Reply } from '../support/in-process.ts'

/** Sends a request to the server. */
export type Send = (method: string, path: string, question?: Question) => Promise<Reply>

interface Target {
  readonly root: string
  readonly plural: string
  readonly singular: string
  readonly group: string
}

interface Table {
  readonly columnDefinitions: ReadonlyArray<{ readonly name: string; readonly priority: number }>
  readonly rows: ReadonlyArray<{ readonly cells: readonly unknown[] }>
}

const roots = ['/api/v1', ...['coordination.k8s.io/v1', 'kopf.dev/v1', 'example.com/v1', 'example.com/v2'].map(toRoot)]
const asTable = 'application/json;as=Table;v=v1;g=meta.k8s.io'

function toRoot(groupVersion: string): string {
  return `/apis/${groupVersion}`
}

export class Kubectl {
  readonly #send: Send

  constructor(send: Send) {
    this.#send = send
  }

  /** Runs the command and returns its output on both streams. */
  async run(command: string): Promise<string> {
    const [verb, ...words] = toWords(command)
    const { options, names } = toArguments(words)
    const [type, name] = names.flatMap((one) => one.split('/'))
    const target = await this.#find(type!)
    const namespace = options.get('namespace') ?? 'default'
    const path = [target.root, 'namespaces', namespace, target.plural, name].filter(Boolean).join('/')
    const said = `${target.singular}${target.group === '' ? '' : `.${target.group}`}/${name}`
    switch (verb) {
      case 'get':
        return this.#get(path, { namespace, output: options.get('output'), said })
      case 'patch':
        return this.#write('PATCH', path, { options, done: `${said} patched` })
      case 'label':
        return this.#write('PATCH', path, {
          options,
          labels: names.slice(2),
          done: `${said} ${names.at(-1)!.endsWith('-') ? 'unlabeled' : 'labeled'}`,
        })
      case 'delete':
        return this.#write('DELETE', path, {
          options,
          done: `${said.replace('/', ' "')}" deleted from ${namespace} namespace`,
        })
      case 'wait':
        return this.#wait(path, options.get('for')!.replace('condition=', ''), said)
      default:
        throw new Error(`There is no stand-in for "${command}"`)
    }
  }

  async #find(type: string): Promise<Target> {
    const [plain, version, ...domain] = type.split('.')
    for (const root of roots) {
      if (version !== undefined && !root.endsWith(`/${domain.join('.')}/${version}`)) continue
      const { body } = await this.#send('GET', root)
      const resources = (body['resources'] ?? []) as Array<Record<string, string> & { shortNames?: string[] }>
      const found = resources.find(({ name, singularName, shortNames }) =>
        [name, singularName, ...(shortNames ?? [])].includes(plain!),
      )
      const group = root.split('/')[3] === undefined ? '' : root.split('/')[2]!
      if (found) return { root, plural: found['name']!, singular: found['singularName']!, group }
    }
    throw new Error(`There are no ${type}`)
  }

  async #get(path: string, how: { namespace: string; output: string | undefined; said: string }): Promise<string> {
    const { namespace, output = 'table', said } = how
    const reply = await this.#send('GET', path, output === 'table' ? { headers: { accept: asTable } } : {})
    if (reply.status >= 400) return toRefusal(reply)
    if (output.startsWith('jsonpath=')) return fill(output.slice('jsonpath='.length), reply.body)
    if (output === 'name') {
      const { items = [reply.body] } = reply.body as { items?: unknown[] }
      const names = items.map((one) => (one as { metadata: { name: string } }).metadata.name)
      return names.map((name) => `${said.split('/')[0]}/${name}`).join('\n')
    }
    if (output !== 'table') throw new Error(`There is no stand-in for "-o ${output}"`)
    const { columnDefinitions, rows } = reply.body as unknown as Table
    if (rows.length === 0) return `No resources found in ${namespace} namespace.`
    const shown = columnDefinitions.flatMap(({ priority }, index) => (priority === 0 ? [index] : []))
    const header = shown.map((index) => columnDefinitions[index]!.name.toUpperCase())
    const lines = rows.map(({ cells }) => shown.map((index) => cells[index] ?? ''))
    return [header, ...lines].map((cells) => cells.join('   ')).join('\n')
  }

  async #write(
    method: string,
    path: string,
    how: { options: ReadonlyMap<string, string>; labels?: readonly string[]; done: string },
  ): Promise<string> {
    const { options, labels = [], done } = how
    const subresource = options.get('subresource')
    const labelled = Object.fromEntries(labels.map((one) => one.split('=')))
    const body = options.get('patch') ?? (labels.length > 0 ? { metadata: { labels: labelled } } : undefined)
    const deletion = options.has('now') ? { body: { gracePeriodSeconds: 1 } } : {}
    const question = method === 'DELETE' ? deletion : { body }
    const reply = await this.#send(method, subresource ? `${path}/${subresource}` : path, question)
    const warnings = [reply.headers['warning'] ?? []]
      .flat()
      .map((text) => `Warning: ${JSON.parse(text.slice('299 - '.length))}`)
    return [...warnings, reply.status >= 400 ? toRefusal(reply) : done].join('\n')
  }

  async #wait(path: string, type: string, said: string): Promise<string> {
    const { body } = await this.#send('GET', path)
    const { conditions = [] } = (body['status'] ?? {}) as { conditions?: Array<{ type: string; status: string }> }
    const isMet = conditions.some((one) => one.type === type && one.status === 'True')
    return isMet ? `${said} condition met` : `error: timed out waiting for the condition on ${said}`
  }
}

/** Splits a command at spaces, outside of single quotes. */
function toWords(command: string): string[] {
  return [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''))
}

const long: Readonly<Record<string, string>> = { '-o': '--output', '-p': '--patch', '-n': '--namespace' }
const flags = new Set(['now', 'overwrite'])

function toArguments(words: readonly string[]): { options: Map<string, string>; names: string[] } {
  const options = new Map<string, string>()
  const names: string[] = []
  for (let at = 0; at < words.length; at += 1) {
    const word = long[words[at]!] ?? words[at]!
    const [, key, value] = /^--([^=]+)(?:=(.*))?$/.exec(word) ?? []
    if (key === undefined) names.push(word)
    else if (value !== undefined || flags.has(key)) options.set(key, value ?? '')
    else {
      at += 1
      options.set(key, words[at]!)
    }
  }
  return { options, names }
}

function toRefusal({ body }: Reply): string {
  const { reason, message, details } = body as Record<string, string> & { details?: { kind?: string; name?: string } }
  if (reason === 'Invalid')
    return `The ${details?.kind} "${details?.name}" is invalid: ${message!.split(' is invalid: ')[1]}`
  return `Error from server${reason ? ` (${reason})` : ''}: ${message}`
}

/** Fills a template like `{.a.b[0]} and {.c\.d}`: texts unquoted, other values as JSON with sorted keys, as Go prints them. */
function fill(template: string, body: unknown): string {
  return template.replace(/\{([^}]*)\}/g, (_, path: string) => {
    const keys = [...path.matchAll(/\.((?:\\.|[^.[\\])+)|\[(\d+)\]/g)].map(
      ([, key, at]) => at ?? key!.replaceAll('\\', ''),
    )
    const value = keys.reduce<unknown>((tree, key) => (tree as Record<string, unknown> | undefined)?.[key], body)
    return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(sorted(value))
  })
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  )
}
