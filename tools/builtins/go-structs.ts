/**
 * Reads struct declarations from the Go source of the Kubernetes API. Only the struct tags, not the OpenAPI documents, have the JSON
 * name of a field, omitempty, and the Go type that error messages name. The sources have one field per line, so reading
 * line by line is enough. Used by generate.ts and generate-protobuf.ts.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface GoField {
  /** The name in JSON; empty for an inlined struct. */
  readonly json: string
  readonly goName: string
  readonly type: string
  readonly omitEmpty: boolean
  readonly omitZero: boolean
  /** The field number in protobuf; undefined for fields that exist only in JSON. */
  readonly number: number | undefined
}

export interface GoPackage {
  readonly structs: ReadonlyMap<string, readonly GoField[]>
  /** Named types that are not structs: `RestartPolicy` -> `string`. */
  readonly named: ReadonlyMap<string, string>
  /** Import names to import paths. */
  readonly imports: ReadonlyMap<string, string>
}

const fieldPattern = /^\t(?:(\w+)\s+)?(\S.*?)\s+`([^`]*)`/
const tagPattern = /json:"([^"]*)"/
const numberPattern = /protobuf:"\w+,(\d+)/

function parseField(line: string): GoField | undefined {
  const match = fieldPattern.exec(line)
  const tag = match && tagPattern.exec(match[3]!)
  if (!match || !tag) return undefined
  const [json, ...options] = tag[1]!.split(',')
  if (json === '-') return undefined
  const type = match[2]!
  const number = numberPattern.exec(match[3]!)?.[1]
  return {
    json: options.includes('inline') ? '' : json!,
    goName: match[1] ?? type.replace(/^.*\./, ''),
    type,
    omitEmpty: options.includes('omitempty'),
    omitZero: options.includes('omitzero'),
    number: number === undefined ? undefined : Number(number),
  }
}

function parseFile(text: string, structs: Map<string, GoField[]>, named: Map<string, string>): void {
  let open: GoField[] | undefined
  for (const line of text.split('\n')) {
    const start = /^type (\w+) struct ?\{/.exec(line)
    const other = /^type (\w+) =? ?([^\s{]+)$/.exec(line.replace(/\s*\/\/.*$/, ''))
    if (start) {
      open = []
      structs.set(start[1]!, open)
      if (line.endsWith('}')) open = undefined
    } else if (line.startsWith('}')) open = undefined
    else if (open && !/^\t\/\//.test(line)) open.push(...[parseField(line) ?? []].flat())
    else if (other) named.set(other[1]!, other[2]!)
  }
}

/** All types of the package in a folder. */
export function readGoPackage(folder: string): GoPackage {
  const structs = new Map<string, GoField[]>()
  const named = new Map<string, string>()
  const imports = new Map<string, string>()
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.go') || name.endsWith('_test.go') || name.includes('generated')) continue
    const text = readFileSync(join(folder, name), 'utf8')
    parseFile(text, structs, named)
    for (const [, alias, path] of text.matchAll(/^\t(?:(\w+) )?"([\w./-]+)"$/gm)) {
      imports.set(alias ?? path!.replace(/^.*\//, ''), path!)
    }
  }
  return { structs, named, imports }
}
