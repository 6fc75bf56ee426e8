/**
 * Reads the text of a metrics library of the user, in the text format of Prometheus or in OpenMetrics, into families. Lines that are malformed are left
 * out: a scraper would reject the whole answer because of one of them. Linear in the length of the text. Pure.
 */
import type { Family, FamilyType, MetricSample } from './exposition.ts'

export interface ParsedExposition {
  readonly families: readonly Family[]
  /** The number of lines that were left out. */
  readonly malformed: number
}

interface OpenFamily extends Family {
  readonly samples: MetricSample[]
}

const types: ReadonlyMap<string, FamilyType> = new Map<string, FamilyType>(
  Object.entries({
    counter: 'counter',
    gauge: 'gauge',
    histogram: 'histogram',
    summary: 'summary',
    untyped: 'unknown',
    unknown: 'unknown',
    info: 'info',
    stateset: 'stateset',
    gaugehistogram: 'gaugehistogram',
  }),
)

/** The suffixes of samples, by the type of the family. */
const suffixes: Readonly<Record<FamilyType, readonly string[]>> = {
  counter: ['_total', '_created'],
  gauge: [''],
  histogram: ['_bucket', '_sum', '_count', '_created'],
  summary: ['', '_sum', '_count', '_created'],
  unknown: [''],
  info: ['_info'],
  stateset: [''],
  gaugehistogram: ['_bucket', '_gsum', '_gcount'],
}

const header = /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) ([^\n]*)$/
const sampleName = /^[a-zA-Z_:][a-zA-Z0-9_:]*/
const label = /[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"/y

export function parseExposition(
  text: string,
  { isOpenMetrics }: { readonly isOpenMetrics: boolean },
): ParsedExposition {
  const parser = new ExpositionParser(isOpenMetrics)
  for (const line of text.split('\n')) parser.take(line)
  return { families: parser.families(), malformed: parser.malformed }
}

class ExpositionParser {
  malformed = 0
  readonly #isOpenMetrics: boolean
  /** By the name in the headers. */
  readonly #families = new Map<string, OpenFamily>()
  readonly #helps = new Map<string, string>()

  constructor(isOpenMetrics: boolean) {
    this.#isOpenMetrics = isOpenMetrics
  }

  take(line: string): void {
    if (line.trim() === '') return
    if (line.startsWith('#')) this.#takeHeader(line)
    else if (!this.#takeSample(line)) this.malformed += 1
  }

  families(): readonly Family[] {
    return Array.from(this.#families, ([name, family]) => ({ ...family, help: this.#helps.get(name) ?? '' }))
  }

  #takeHeader(line: string): void {
    const [, kind, name, rest] = header.exec(line) ?? []
    if (kind === 'HELP') this.#helps.set(name!, unescapeHelp(rest!))
    const type = kind === 'TYPE' ? types.get(rest!.trim()) : undefined
    if (type !== undefined && !this.#families.has(name!)) this.#open(name!, type)
  }

  #open(name: string, type: FamilyType): OpenFamily {
    const isShort = type === 'counter' && !this.#isOpenMetrics && name.endsWith('_total')
    const openName = isShort ? name.slice(0, -'_total'.length) : name
    const textName = type === 'counter' && this.#isOpenMetrics ? `${name}_total` : name
    const family: OpenFamily = { name: openName, textName, type, help: '', samples: [] }
    this.#families.set(name, family)
    return family
  }

  #takeSample(line: string): boolean {
    const name = sampleName.exec(line)?.[0]
    if (name === undefined) return false
    const labels = readLabels(line, name.length)
    if (labels === undefined) return false
    const numbers = this.#readNumbers(line.slice(labels.end))
    if (numbers === undefined) return false
    const { family, suffix } = this.#familyOf(name)
    family.samples.push({ suffix, labels: labels.text, ...numbers })
    return true
  }

  #readNumbers(text: string): Omit<MetricSample, 'suffix' | 'labels'> | undefined {
    const at = text.indexOf(' # ')
    const [value, time, ...rest] = (at === -1 ? text : text.slice(0, at)).trim().split(/[ \t]+/)
    const number = toNumber(value)
    if (number === undefined || rest.length > 0) return undefined
    const exemplar = at !== -1 && this.#isOpenMetrics ? readExemplar(text.slice(at + 3)) : undefined
    if (time === undefined) return { value: number, exemplar }
    const stamp = toNumber(time)
    if (stamp === undefined || !Number.isFinite(stamp)) return undefined
    return { value: number, exemplar, atMs: Math.round(this.#isOpenMetrics ? stamp * 1000 : stamp) }
  }

  #familyOf(name: string): { readonly family: OpenFamily; readonly suffix: string } {
    const exact = this.#families.get(name)
    // A counter of the text format has one sample, with the name of the family.
    if (exact?.type === 'counter' && !this.#isOpenMetrics) return { family: exact, suffix: '_total' }
    if (exact !== undefined && suffixes[exact.type].includes('')) return { family: exact, suffix: '' }
    const at = name.lastIndexOf('_')
    const [base, suffix] = [name.slice(0, at), name.slice(at)]
    const family = at > 0 ? this.#families.get(base) : undefined
    if (family !== undefined && suffixes[family.type].includes(suffix)) return { family, suffix }
    return { family: exact ?? this.#open(name, 'unknown'), suffix: '' }
  }
}

/** The labels of a sample as they are written, without braces, if they are well-formed. */
function readLabels(line: string, from: number): { readonly text: string; readonly end: number } | undefined {
  if (line[from] !== '{') return { text: '', end: from }
  let at = from + 1
  const parts: string[] = []
  for (;;) {
    while (line[at] === ' ' || line[at] === ',') at += 1
    if (line[at] === '}') return { text: parts.join(','), end: at + 1 }
    label.lastIndex = at
    const found = label.exec(line)?.[0]
    if (found === undefined) return undefined
    parts.push(found)
    at += found.length
  }
}

/** An exemplar that is malformed is left out. */
function readExemplar(text: string): string | undefined {
  const labels = readLabels(text, 0)
  if (labels === undefined || labels.end === 0) return undefined
  const numbers = text
    .slice(labels.end)
    .trim()
    .split(/[ \t]+/)
  if (numbers.length > 2 || numbers.some((number) => toNumber(number) === undefined)) return undefined
  return `{${labels.text}} ${numbers.join(' ')}`
}

function toNumber(text: string | undefined): number | undefined {
  switch (text) {
    case undefined:
    case '':
      return undefined
    case 'NaN':
    case 'Nan':
      return Number.NaN
    case '+Inf':
    case 'Inf':
      return Infinity
    case '-Inf':
      return -Infinity
  }
  const number = Number(text)
  return Number.isFinite(number) ? number : undefined
}

function unescapeHelp(text: string): string {
  return text.replace(/\\([\\n"])/g, (_, character: string) => (character === 'n' ? '\n' : character))
}
