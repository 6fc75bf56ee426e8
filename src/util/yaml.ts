/**
 * Reads and writes YAML as kubectl does: version 1.1 (`yes` is true), without timestamps, base-60 numbers and other types that JSON
 * lacks. The parser is loaded on first use, by this file only.
 */
import { randomUUID } from 'node:crypto'
import type { Document, Tags } from 'yaml'
import { isContainer } from './json/json.ts'
import { toJsonText } from './json/json-text.ts'
import { requireLibrary } from './process/package-files.ts'

/** Thrown for invalid YAML, and for values that are nested too deeply. The message is the parser's first line, with the position. */
export class YamlError extends Error {}

/** Maximum number of nodes that aliases expand to, against "billion laughs" documents. */
const maxAliasCount = 100

type YamlParser = typeof import('yaml')

function loadParser(): YamlParser {
  return requireLibrary('yaml') as YamlParser
}

const unsupportedTags = new Set(
  ['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`),
)

function plainTags(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || (!unsupportedTags.has(tag.tag) && tag.format !== 'TIME'))
}

/**
 * Maximum depth. The parser and the formatter recurse, and a stack overflow in the middle of a regular expression ends the process. The
 * stack has room for three times this depth.
 */
const maxDepth = 200

/** All documents of a text except empty ones. */
export function parseYaml(text: string): unknown[] {
  const { Lexer, parseAllDocuments } = loadParser()
  checkTextDepth(new Lexer().lex(text))
  const documents = parseAllDocuments(text, { version: '1.1', customTags: plainTags, logLevel: 'error' })
  if ('empty' in documents) return []
  return documents.map((document) => toValue(document as Document)).filter((value) => value !== null)
}

function toValue(document: Document): unknown {
  const [problem] = document.errors
  if (problem !== undefined) throw new YamlError(firstLine(problem))
  try {
    return document.toJS({ maxAliasCount })
  } catch (error) {
    throw new YamlError(firstLine(error as Error))
  }
}

export interface Duplicate {
  readonly key: string
  /** The line of its second occurrence, from 1. */
  readonly line: number
}

/** The first document of a text (undefined without any), with the last value of repeated keys, and a list of the repeated keys. */
export function parseYamlLoosely(text: string): { value: unknown; duplicates: Duplicate[] } {
  const { Lexer, LineCounter, parseAllDocuments, visit } = loadParser()
  checkTextDepth(new Lexer().lex(text))
  const lineCounter = new LineCounter()
  const options = { version: '1.1', customTags: plainTags, logLevel: 'error', uniqueKeys: false, lineCounter } as const
  const documents = parseAllDocuments(text, options)
  if ('empty' in documents) return { value: undefined, duplicates: [] }
  const document = documents[0] as Document
  const duplicates: Duplicate[] = []
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<string>()
      for (const { key } of items) {
        const name = String(key)
        const [start = 0] = (key as { range?: number[] }).range ?? []
        if (seen.has(name)) duplicates.push({ key: name, line: lineCounter.linePos(start).line })
        seen.add(name)
      }
    },
  })
  return { value: toValue(document), duplicates }
}

/** The lexer's token before a scalar, whose text may look like any token. */
const scalarMark = '\x1f'

/** Estimates the depth from above: each bracket, each column of indentation and each `-`, `?` or `:` in a line may add a level. */
function checkTextDepth(tokens: Iterable<string>): void {
  let brackets = 0
  let inLine = 0
  let last = '\n'
  for (const token of tokens) {
    if (last === scalarMark) {
      // The text of a scalar.
    } else if (token === '[' || token === '{') brackets += 1
    else if (token === ']' || token === '}') brackets -= 1
    else if (token === '\n' || token === '\r\n') inLine = 0
    else if (brackets === 0 && /^[-?:]$/.test(token)) inLine += 1
    else if (brackets === 0 && last.endsWith('\n') && /^[ \t]+$/.test(token)) inLine += token.length
    if (inLine + brackets > maxDepth) throw new YamlError(`exceeded max depth of ${maxDepth}`)
    last = token
  }
}

function firstLine({ message }: Error): string {
  return message.split('\n')[0]!.replace(/:$/, '')
}

function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true
    level = level.flatMap((one) => (isContainer(one) ? Object.values(one) : []))
  }
  return false
}

function checkValueDepth(value: unknown): void {
  if (isTooDeep(value)) throw new YamlError(`exceeded max depth of ${maxDepth} in YAML`)
}

/**
 * Formats as Kubernetes does: keys sorted, lists not indented. Containers below 200 levels are written as JSON, which is valid YAML:
 * the indentation of 10,000 levels would take 100 MB.
 */
export function formatYaml(value: unknown): string {
  if (!isTooDeep(value)) return stringifyYaml(value)
  const mark = `deep-${randomUUID()}-`
  const cut: unknown[] = []
  const text = stringifyYaml(cutAt(maxDepth, value, (container) => `${mark}${cut.push(container) - 1}`))
  return text.replaceAll(new RegExp(`${mark}(\\d+)`, 'g'), (_, index: string) => toJsonText(cut[Number(index)]))
}

function stringifyYaml(value: unknown): string {
  const { stringify } = loadParser()
  return stringify(value, { version: '1.1', aliasDuplicateObjects: false, sortMapEntries: true, indentSeq: false })
}

/** A copy of the upper levels, with a placeholder for each container below them. */
function cutAt(levels: number, value: unknown, replace: (container: object) => string): unknown {
  if (!isContainer(value)) return value
  if (levels === 0) return replace(value)
  if (Array.isArray(value)) return value.map((item) => cutAt(levels - 1, item, replace))
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cutAt(levels - 1, child, replace)]))
}

/** A comment before the value at a path. */
export interface YamlComment {
  readonly path: ReadonlyArray<string | number>
  readonly text: string
}

/** Lists of words up to this length are written on one line. */
const maxLineLength = 90

/** Formats for readers: keys in their given order, short lists on one line, comments. Used by `kopf manifests`. */
export function formatYamlForPeople(value: unknown, comments: readonly YamlComment[] = []): string {
  const { Document, isMap, isNode, isScalar, visit } = loadParser()
  checkValueDepth(value)
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false })
  visit(document, {
    Seq(_, list) {
      const words = list.items.map((item) => (isScalar(item) ? String(item.value) : undefined))
      list.flow =
        words.every((word) => word !== undefined && !/\s/.test(word)) && words.join(', ').length < maxLineLength
    },
  })
  for (const { path, text } of comments) {
    const parent = document.getIn(path.slice(0, -1), true)
    const key = isMap(parent)
      ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key
      : undefined
    const node = key ?? document.getIn(path, true)
    if (isNode(node)) node.commentBefore = ` ${text}`
  }
  return document.toString({ indentSeq: false, flowCollectionPadding: false, lineWidth: 120 })
}
