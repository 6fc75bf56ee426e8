/**
 * Writes src/server/protobuf/messages.generated.ts: the protobuf messages of the kinds that clients send, from the pinned
 * Kubernetes source. Run by maintainers after the pin in tools/envtest has moved:
 * `npx tsx tools/builtins/generate-protobuf.ts`.
 * Types come from the .proto files; JSON names and omitempty come from the tags of the Go structs.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writePackedModule } from '../packed-module.ts'
import { moduleFolder } from './go-modules.ts'
import { type GoField, type GoPackage, readGoPackage } from './go-structs.ts'
import { generatedKinds } from './kinds.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const target = join(here, '../../src/server/protobuf/messages.generated.ts')

/** Kinds that clients send but the server does not store. */
const requestOnlyKinds: ReadonlyArray<readonly [packageName: string, kinds: readonly string[]]> = [
  ['core.v1', ['Binding']],
  ['policy.v1', ['Eviction']],
  ['autoscaling.v1', ['HorizontalPodAutoscaler', 'Scale']],
  ['authentication.v1', ['SelfSubjectReview', 'TokenRequest', 'TokenReview']],
  [
    'authorization.v1',
    ['LocalSubjectAccessReview', 'SelfSubjectAccessReview', 'SelfSubjectRulesReview', 'SubjectAccessReview'],
  ],
  ['apiextensions.v1', ['CustomResourceDefinition']],
  ['meta.v1', ['DeleteOptions']],
]

/** The names of messages: `.k8s.io.api.core.v1.Pod` -> `core.v1.Pod`, as in generate.ts. */
function shorten(name: string): string {
  return name
    .replace(/^\.?k8s\.io\.(?:api|apiextensions_apiserver\.pkg\.apis)\./, '')
    .replace(/^\.?k8s\.io\.apimachinery\.pkg\.(?:(?:apis|util|api)\.)?/, '')
}

interface ProtoField {
  readonly number: number
  readonly name: string
  /** `string`, `[]core.v1.Container`, `{}resource.Quantity`. */
  readonly type: string
}

interface ProtoPackage {
  readonly messages: ReadonlyMap<string, readonly ProtoField[]>
  readonly go: GoPackage
  readonly group: string | undefined
}

const scalars = ['string', 'bytes', 'bool', 'int32', 'int64', 'uint32', 'double']

function qualify(packageName: string, type: string): string {
  if (scalars.includes(type)) return type
  return type.startsWith('.') ? shorten(type) : `${packageName}.${type}`
}

function parseField(packageName: string, line: string): ProtoField | undefined {
  const map = /^ {2}map<string, ([\w.]+)> (\w+) = (\d+);/.exec(line)
  if (map) return { number: Number(map[3]), name: map[2]!, type: `{}${qualify(packageName, map[1]!)}` }
  const match = /^ {2}(optional|repeated) ([\w.]+) (\w+) = (\d+);/.exec(line)
  if (!match) return undefined
  const type = qualify(packageName, match[2]!)
  return { number: Number(match[4]), name: match[3]!, type: match[1] === 'repeated' ? `[]${type}` : type }
}

function parseMessages(packageName: string, text: string): Map<string, ProtoField[]> {
  const messages = new Map<string, ProtoField[]>()
  let open: ProtoField[] | undefined
  for (const line of text.replace(/^\s*\/\/.*$/gm, '').split('\n')) {
    const start = /^message (\w+) \{/.exec(line)
    const field = open && parseField(packageName, line)
    if (start) {
      open = []
      messages.set(start[1]!, open)
    } else if (line === '}') open = undefined
    else if (field) open!.push(field)
    else if (open && line.trim() !== '') throw new Error(`Cannot read a line of ${packageName}: ${line}`)
  }
  return messages
}

class Packages {
  readonly #known = new Map<string, ProtoPackage>()
  readonly #modules = new Map<string, string>()

  get(name: string): ProtoPackage {
    let known = this.#known.get(name)
    if (known) return known
    const folder = this.#folderOf(name)
    const go = readGoPackage(folder)
    const register = name.includes('.') ? readFileSync(join(folder, 'register.go'), 'utf8') : ''
    const group = /^const GroupName = "(.*)"/m.exec(register)?.[1]
    const text = readFileSync(join(folder, 'generated.proto'), 'utf8')
    known = { messages: parseMessages(name, text), go, group }
    this.#known.set(name, known)
    return known
  }

  #folderOf(name: string): string {
    if (name === 'resource') return this.#module('k8s.io/apimachinery', 'pkg/api/resource')
    if (name === 'intstr') return this.#module('k8s.io/apimachinery', 'pkg/util/intstr')
    if (name === 'runtime') return this.#module('k8s.io/apimachinery', 'pkg/runtime')
    if (name === 'meta.v1') return this.#module('k8s.io/apimachinery', 'pkg/apis/meta/v1')
    if (name === 'apiextensions.v1') return this.#module('k8s.io/apiextensions-apiserver', 'pkg/apis/apiextensions/v1')
    return this.#module('k8s.io/api', name.replace('.', '/'))
  }

  #module(name: string, path: string): string {
    let folder = this.#modules.get(name)
    if (folder === undefined) {
      folder = moduleFolder(name)
      this.#modules.set(name, folder)
    }
    return join(folder, path)
  }
}

/** One field of the table. The Go name, which error messages use, is there only if it is not the capitalised JSON name. */
type Row = readonly [number: number, json: string, type: string, flags?: string, goName?: string]

function capitalize(name: string): string {
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

function rowOf(message: string, { number, type }: ProtoField, { json, goName, ...go }: GoField): Row {
  const pointer = go.type.startsWith('*') ? '*' : ''
  const flags = `${pointer}${go.omitEmpty ? 'e' : ''}${go.omitZero ? 'z' : ''}${json === '' ? 'i' : ''}`
  if (json === '' && /^[[{]|^\w+$/.test(type))
    throw new Error(`Cannot inline ${goName} of ${message}: it is not a message`)
  // The decoder can detect a zero value only for times.
  if (go.omitZero && type !== 'meta.v1.Time') throw new Error(`Cannot omit the zero of ${type} in ${message}`)
  if (goName !== capitalize(json)) return [number, json, type, flags, goName]
  return flags === '' ? [number, json, type] : [number, json, type, flags]
}

/** The rows in the order of the Go struct, which is the order in JSON. Messages that are not Go structs have no JSON names. */
function rowsOf(packages: Packages, name: string): readonly Row[] {
  const dot = name.lastIndexOf('.')
  const { messages, go } = packages.get(name.slice(0, dot))
  const local = name.slice(dot + 1)
  const fields = messages.get(local)
  if (!fields) throw new Error(`No message ${name}`)
  const struct = (go.structs.get(local) ?? []).filter(({ number }) => number !== undefined)
  // Time, ExtraValue and the like have their own JSON encoders in Go; the protobuf decoder of the server repeats those.
  if (struct.length === 0) return fields.map(({ number, name, type }) => [number, '', type, '', capitalize(name)])
  if (struct.length !== fields.length) throw new Error(`${name} has other fields in Go than in protobuf`)
  return struct.map((goField) => {
    const field = fields.find(({ number }) => number === goField.number)
    if (!field) throw new Error(`${name} has no field ${goField.number} in protobuf`)
    return rowOf(name, field, goField)
  })
}

const packages = new Packages()
const kinds: Record<string, string> = {}
const roots = [...generatedKinds.map(([, packageName, names]) => [packageName, names] as const), ...requestOnlyKinds]
for (const [packageName, names] of roots) {
  const { group } = packages.get(packageName)
  if (group === undefined) throw new Error(`No group of ${packageName}`)
  const version = packageName.replace(/^.*\./, '')
  for (const kind of names) kinds[`${group === '' ? '' : `${group}/`}${version} ${kind}`] = `${packageName}.${kind}`
}

const found: Record<string, readonly Row[]> = {}
const queue = Object.values(kinds)
for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
  if (found[name]) continue
  found[name] = rowsOf(packages, name)
  queue.push(
    ...found[name]!.map(([, , type]) => type.replace(/^(?:\[\]|\{\})/, '')).filter((type) => type.includes('.')),
  )
}

const sorted = (table: object): object => Object.fromEntries(Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1)))
const value = { kinds: sorted(kinds), messages: sorted(found) }
writePackedModule({ target, tool: 'tools/builtins/generate-protobuf.ts', name: 'packedMessages', value })
