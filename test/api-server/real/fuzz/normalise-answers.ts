/**
 * Makes the answers of two servers comparable: generated values (uids, versions, names) become numbers in the order of their first
 * appearance, so that only their equality is compared. Not compared are times, the order of fields and of managers (managers are
 * sorted by time), and the versions of lists and bookmarks, which other writers raise too.
 */
import type { Answer, Body, Tree } from '../../../support/answers.ts'
import type { WatchEvent } from '../../../support/watch.ts'

interface Difference {
  readonly what: 'uid' | 'version' | 'name' | 'time'
  readonly pattern: RegExp
}

/** Expected differences within texts. The methods of Normaliser handle differences of structure. */
const differences: readonly Difference[] = [
  { what: 'uid', pattern: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g },
  // The suffix of a generated name is random.
  { what: 'name', pattern: /\b(?:gen\d+-|Bad_)[a-z0-9]{5}\b/g },
  // The servers may answer in different seconds. Tables show times as ages.
  { what: 'time', pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/g },
  { what: 'time', pattern: /^\d+s$/g },
  // Versions in messages are recognised by the words before them.
  { what: 'version', pattern: /(?<=ResourceVersion in (?:the )?(?:precondition|record|object meta)[ :(]+)\d+/g },
]

/**
 * The real API server checks the fields of a configuration in random order, and stops at the first unknown field, so the reported
 * problems and their order vary.
 */
const typeProblems = /(?<=^failed to create typed patch object \([^)]*\): ).*$/s

export type Comparable = Pick<Answer, 'status' | 'headers' | 'body'>

export class Normaliser {
  readonly #known = {
    uid: new Map<string, string>(),
    version: new Map<string, string>(),
    name: new Map<string, string>(),
  }
  readonly #namespace: string

  constructor(namespace: string) {
    this.#namespace = namespace
  }

  answer({ status, headers, body }: Comparable): unknown {
    const warnings = [headers['warning'] ?? []].flat().map((text) => this.#text(text))
    return {
      status,
      type: headers['content-type'],
      warnings: warnings.sort(),
      body: this.value(withSortedCauses(body)),
    }
  }

  /** `isOrdered`: whether the order of events of different objects is defined. */
  events(events: readonly WatchEvent[], isOrdered: boolean): unknown {
    const shown = events.filter((event) => !isPlainBookmark(event))
    if (isOrdered) return shown.map((event) => this.#event(event))
    const nameOf = ({ object }: WatchEvent) => this.#text((object.rows?.[0]?.object ?? object).metadata.name ?? '')
    const names = [...new Set(shown.map(nameOf))].sort()
    return names.map((name) => shown.filter((event) => nameOf(event) === name).map((event) => this.#event(event)))
  }

  #event({ type, object }: WatchEvent): unknown {
    // A bookmark has the version of the store, which other writers raise too.
    if (type === 'BOOKMARK') object.metadata.resourceVersion = '<store>'
    return { type, object: this.value(object) }
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value)
    if (Array.isArray(value)) return value.map((each) => this.value(each))
    if (typeof value !== 'object' || value === null) return value
    const tree = value as Tree
    const isList = /(List|^Table)$/.test(String(tree['kind']))
    const entries = Object.keys(tree)
      .sort()
      .map((key) => [this.#key(key), key === 'metadata' ? this.#metadata(tree[key], isList) : this.value(tree[key])])
    return Object.fromEntries(entries)
  }

  /** Keys of managed list items (`k:` and `v:`) contain values of the item, which may be a uid. */
  #key(key: string): string {
    return /^[kv]:/.test(key) ? this.#text(key) : key
  }

  #metadata(value: unknown, isOfList: boolean): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return this.value(value)
    const { resourceVersion, continue: token, managedFields, ...rest } = value as Tree
    return {
      ...(managedFields === undefined ? {} : { managedFields: this.#managers(managedFields) }),
      ...(resourceVersion === undefined ? {} : { resourceVersion: this.#version(resourceVersion, isOfList) }),
      ...(token === undefined ? {} : { continue: token === '' ? '' : '<continue>' }),
      ...(this.value(rest) as Tree),
    }
  }

  #managers(entries: unknown): unknown {
    if (!Array.isArray(entries)) return this.value(entries)
    const texts = entries.map((entry) => JSON.stringify(this.value(entry)))
    return texts.sort().map((text) => JSON.parse(text) as unknown)
  }

  #version(version: unknown, isOfList: boolean): unknown {
    if (typeof version !== 'string' || !/^\d+$/.test(version)) return version
    // A list has the version of the store, which other writers raise too.
    return isOfList ? '<store>' : this.#number('version', version)
  }

  #text(text: string): string {
    const readable = withoutPatchedObject(text, (object) => JSON.stringify(this.value(object)))
    let normal = readable.replaceAll(this.#namespace, '<ns>').replace(typeProblems, '<problems>')
    // The type names in messages about CEL rules have random numbers.
    normal = normal.replaceAll(/\bselfType\d+/g, 'selfType')
    for (const { pattern, what } of differences) {
      normal = normal.replaceAll(pattern, (found) => (what === 'time' ? '<time>' : this.#number(what, found)))
    }
    return normal
  }

  #number(what: Exclude<Difference['what'], 'time'>, value: string): string {
    const known = this.#known[what]
    const before = known.get(value)
    if (before !== undefined) return before
    const fresh = `<${what} ${known.size + 1}>`
    known.set(value, fresh)
    return fresh
  }
}

/** Normalises the object that messages about an undecodable patch result quote. */
function withoutPatchedObject(text: string, show: (object: unknown) => string): string {
  const tryToShow = (shown: string, read: () => string) => {
    try {
      return show(JSON.parse(read()))
    } catch {
      return shown
    }
  }
  return text
    .replace(/(?<=Invalid value: )"\{(?:[^"\\]|\\.)*"(?=: )/, (quoted) =>
      tryToShow(quoted, () => JSON.parse(quoted) as string),
    )
    .replace(/(?<=is missing in ')\{.*\}(?=')/, (json) => tryToShow(json, () => json))
}

function isPlainBookmark({ type, object }: WatchEvent): boolean {
  return type === 'BOOKMARK' && object.metadata.annotations === undefined
}

/**
 * The real API server checks the fields of a schema in the random order of Go's maps, so the message and the causes have errors in
 * any order. If both have the same errors, the message is cut and the causes are sorted. Repeated causes are counted once, since
 * metadata may be validated several times.
 */
function withSortedCauses(body: Body): Body {
  const details = body?.['details'] as Tree | undefined
  const causes = details?.['causes']
  if (!Array.isArray(causes)) return body
  const texts = [...new Set(causes.map(({ field, message }: Tree) => `${field}: ${message}`))]
  const list = texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`
  const message = String(body['message']).replace(list, '<causes>')
  const sorted = [
    ...new Set(causes.map(({ field, message, reason }) => JSON.stringify({ field, message, reason }))),
  ].sort()
  return { ...body, message, details: { ...details, causes: sorted.map((text) => JSON.parse(text)) } }
}
