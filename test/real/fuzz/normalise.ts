/**
 * Answers of two servers made comparable: what each makes up by itself (uids, versions, generated names) becomes a number
 * in the order of first appearance, so that what is compared is which of them are the same. Not compared at all are times,
 * the order of fields and of managers, which is that of times, and the versions of lists and bookmarks, which others write
 * to as well.
 */
import type { Answer, Body, Tree } from '../../support/answers.ts'
import type { WatchEvent } from '../../support/watch.ts'

interface Difference {
  readonly what: 'uid' | 'version' | 'name' | 'time'
  readonly pattern: RegExp
}

/** Differences that are meant to be, wherever they are in a text. Those of structure are dealt with where they occur. */
const differences: readonly Difference[] = [
  { what: 'uid', pattern: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g },
  // The ends of generated names are random.
  { what: 'name', pattern: /\b(?:gen\d+-|Bad_)[a-z0-9]{5}\b/g },
  // The servers may be asked in different seconds. An age is what tables show of a time.
  { what: 'time', pattern: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/g },
  { what: 'time', pattern: /^\d+s$/g },
  // Of versions only those are known that are named so: any other number may be anything.
  { what: 'version', pattern: /(?<=ResourceVersion in (?:the )?(?:precondition|record|object meta)[ :(]+)\d+/g },
]

/**
 * The real server goes over the fields of a configuration in random order, and stops at the first one that it does not know:
 * which problems it names, and in which order, differs from time to time.
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

  /** `isOrdered` where the order among different objects is known. */
  events(events: readonly WatchEvent[], isOrdered: boolean): unknown {
    const shown = events.filter((event) => !isPlainBookmark(event))
    if (isOrdered) return shown.map((event) => this.#event(event))
    const nameOf = ({ object }: WatchEvent) => this.#text((object.rows?.[0]?.object ?? object).metadata.name ?? '')
    const names = [...new Set(shown.map(nameOf))].sort()
    return names.map((name) => shown.filter((event) => nameOf(event) === name).map((event) => this.#event(event)))
  }

  #event({ type, object }: WatchEvent): unknown {
    // A bookmark's version is that of the store, which others write to as well.
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

  /** Items of lists are owned by what is in them, which may be a uid. */
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
    // A list shows the version of the store, which others write to as well.
    return isOfList ? '<store>' : this.#number('version', version)
  }

  #text(text: string): string {
    const readable = withoutPatchedObject(text, (object) => JSON.stringify(this.value(object)))
    let normal = readable.replaceAll(this.#namespace, '<ns>').replace(typeProblems, '<problems>')
    // Rules name the type of what they are about with a random number.
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

/** Where a patch makes nonsense of an object, the whole of it is in the message. */
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
 * The real server goes over the fields of a schema in the random order of Go's maps: several errors come in any order,
 * in the message and in the causes alike. Where both say the same, the message is cut and the causes are sorted. How often
 * a cause is repeated follows from how often metadata happened to be looked at, and is not compared either.
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
