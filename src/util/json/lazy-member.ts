/**
 * A large member of a JSON object, kept as UTF-8 text outside of V8's heap and parsed when it is read. The value is referenced weakly:
 * concurrent readers share it, and it is collected after the last one. Used by lazy-json.ts.
 */
import { nextTurn } from '../async/clock.ts'
import { IncrementalFreeze } from './deep-freeze.ts'
import { parseJsonText } from './json-text.ts'

/** Maximum time without a turn of the event loop while a value is frozen. Parsing cannot be divided. */
const sliceMs = 20

/** Shared by members with equal texts (`shareWith`). */
interface MemberContent {
  readonly bytes: Buffer
  value: WeakRef<object> | undefined
  /** Defined while the value is parsed but not completely frozen. */
  freezing: IncrementalFreeze | undefined
  /** Number of active holds. */
  holders: number
  held: object | undefined
}

/** Parsed values of members, all of which are large. */
const parsed = new WeakSet<object>()

export function isLargeValue(value: unknown): value is object {
  return typeof value === 'object' && value !== null && parsed.has(value)
}

export class LazyMember {
  #content: MemberContent

  constructor(text: string) {
    // As bytes: a substring keeps the whole string in memory, and one wide character doubles the size of a string.
    this.#content = {
      bytes: Buffer.from(text),
      value: undefined,
      freezing: undefined,
      holders: 0,
      held: undefined,
    }
  }

  /** The value, frozen. */
  read(): object {
    const content = this.#content
    const value = content.value?.deref() ?? parse(content)
    content.freezing?.finish()
    content.freezing = undefined
    return value
  }

  /** A new mutable value. */
  copy(): object {
    return parseJsonText(this.#content.bytes.toString()) as object
  }

  /** Shares text and value with another member if their texts are equal: most changes of an object affect other members. */
  shareWith(other: LazyMember): void {
    if (this.#content.bytes.equals(other.#content.bytes)) this.#content = other.#content
  }

  /** Whether the texts of two members are equal. Parses nothing. */
  hasTextOf(other: LazyMember): boolean {
    return this.#content === other.#content || this.#content.bytes.equals(other.#content.bytes)
  }

  /** Keeps the parsed value in memory until the returned function is called. */
  hold(): () => void {
    const content = this.#content
    content.holders += 1
    content.held ??= content.value?.deref()
    return () => {
      content.holders -= 1
      if (content.holders === 0) content.held = undefined
    }
  }

  /** Parses and freezes the value ahead of `read`, with turns of the event loop in between. Call it during a `hold`. */
  async prepare(): Promise<void> {
    const content = this.#content
    if (content.value?.deref() === undefined) {
      await nextTurn()
      if (content.value?.deref() === undefined) parse(content)
      await nextTurn()
    }
    while (content.freezing !== undefined) {
      if (content.freezing.advance(sliceMs)) content.freezing = undefined
      await nextTurn()
    }
  }
}

function parse(content: MemberContent): object {
  const value = parseJsonText(content.bytes.toString()) as object
  parsed.add(value)
  content.value = new WeakRef(value)
  content.freezing = new IncrementalFreeze(value)
  if (content.holders > 0) content.held = value
  return value
}
