/**
 * YAML as kubectl reads it: version 1.1 (`yes` is true), but no timestamps and no base-60 numbers, and nothing that JSON
 * could not carry. The parser is loaded when it is first needed. The only file that knows which parser it is.
 */
import { randomUUID } from 'node:crypto'
import type { Document, Tags } from 'yaml'
import { isContainer } from './json.ts'
import { toJsonText } from './json-text.ts'
import { requireLibrary } from './package-files.ts'

/** Thrown for text that is no YAML, or too deep to be read or written. The message is the first line of the parser's, with the place. */
export class YamlError extends Error {}

/** An alias may stand for this many nodes in all: enough for people, too few for a bomb. */
const maxAliasCount = 100

type Parser = typeof import('yaml')

function loadParser(): Parser {
  return requireLibrary('yaml') as Parser
}

const unwanted = new Set(['timestamp', 'binary', 'omap', 'pairs', 'set'].map((name) => `tag:yaml.org,2002:${name}`))

function plainTags(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || (!unwanted.has(tag.tag) && tag.format !== 'TIME'))
}

/**
 * The parser and the formatter recurse, and where the stack ends in the middle of one of their expressions, the process
 * ends with it. Nobody writes YAML as deep as this, and both have room for three times as much.
 */
const maxDepth = 200

/** Every document of a text, empty ones left out. */
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
  /** Of its second place, from 1. */
  readonly line: number
}

/** The first document of a text, in which the last of two keys counts; and which keys are there twice. Undefined for no document. */
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

/** What announces a token of text, which may look like anything. */
const scalarMark = '\x1f'

/** Brackets go deeper, columns to the right may, and so may every sign of a list or a key in a line. */
function checkTextDepth(tokens: Iterable<string>): void {
  let brackets = 0
  let inLine = 0
  let last = '\n'
  for (const token of tokens) {
    if (last === scalarMark) {
      // Text, whatever it looks like.
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
 * With the keys in order and lists not indented, as Kubernetes writes it. Containers deeper than 200 levels are written as JSON, which
 * is YAML too: so the text is as long as the value is large, where the indentation of 10,000 levels alone would take 100 MB.
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

/** A copy of the upper levels, with a text in the place of each container below them. */
function cutAt(levels: number, value: unknown, replace: (container: object) => string): unknown {
  if (!isContainer(value)) return value
  if (levels === 0) return replace(value)
  if (Array.isArray(value)) return value.map((item) => cutAt(levels - 1, item, replace))
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, cutAt(levels - 1, child, replace)]))
}

/** A comment before a value: by the keys and positions that lead to it. */
export interface YamlRemark {
  readonly path: ReadonlyArray<string | number>
  readonly text: string
}

/** Lists of words that are no longer than this stay on one line. */
const longestLine = 90

/** With the keys as they come, short lists on one line, and comments: for people to read before they apply it. */
export function formatYamlForPeople(value: unknown, remarks: readonly YamlRemark[] = []): string {
  const { Document, isMap, isNode, isScalar, visit } = loadParser()
  checkValueDepth(value)
  const document = new Document(value, { version: '1.1', aliasDuplicateObjects: false })
  visit(document, {
    Seq(_, list) {
      const words = list.items.map((item) => (isScalar(item) ? String(item.value) : undefined))
      list.flow = words.every((word) => word !== undefined && !/\s/.test(word)) && words.join(', ').length < longestLine
    },
  })
  for (const { path, text } of remarks) {
    const parent = document.getIn(path.slice(0, -1), true)
    const key = isMap(parent)
      ? parent.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key
      : undefined
    const node = key ?? document.getIn(path, true)
    if (isNode(node)) node.commentBefore = ` ${text}`
  }
  return document.toString({ indentSeq: false, flowCollectionPadding: false, lineWidth: 120 })
}
