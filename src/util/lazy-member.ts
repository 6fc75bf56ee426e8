/**
 * A large member of a JSON object that is kept as UTF-8 text outside of V8's heap and parsed when it is read. Its value is held weakly:
 * readers at the same time share it, and it is collected after the last of them. Used by lazy-json.ts.
 */
import { nextTurn } from './clock.ts'
import { Freezing } from './frozen.ts'
import { parseJsonText } from './json-text.ts'

/** So long other work waits while a value is frozen piece by piece. Parsing cannot be divided. */
const sliceMs = 20

/** Shared by all members with the same text that are known to be equal. */
interface Content {
  readonly bytes: Buffer
  value: WeakRef<object> | undefined
  /** Defined while the value is parsed but not yet frozen: callers get it once it is frozen. */
  freezing: Freezing | undefined
  /** How many hold the value at the moment. */
  holders: number
  held: object | undefined
}

/** Values that come from members: those that are large. */
const parsed = new WeakSet<object>()

export function isLargeValue(value: unknown): value is object {
  return typeof value === 'object' && value !== null && parsed.has(value)
}

export class LazyMember {
  #content: Content

  constructor(text: string) {
    // As bytes: a part of a string would keep all of the string, and a string with one wide character takes twice the memory.
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

  /** A value of its own, which may be edited. */
  copy(): object {
    return parseJsonText(this.#content.bytes.toString()) as object
  }

  /** From now on, the value is shared with another member if the text is the same: an object mostly changes elsewhere. */
  shareWith(other: LazyMember): void {
    if (this.#content.bytes.equals(other.#content.bytes)) this.#content = other.#content
  }

  /** Keeps the value, once it is parsed, until the returned function is called. */
  hold(): () => void {
    const content = this.#content
    content.holders += 1
    content.held ??= content.value?.deref()
    return () => {
      content.holders -= 1
      if (content.holders === 0) content.held = undefined
    }
  }

  /** Parses and freezes the value ahead of `read`, with other work in between. To be called while it is held. */
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

function parse(content: Content): object {
  const value = parseJsonText(content.bytes.toString()) as object
  parsed.add(value)
  content.value = new WeakRef(value)
  content.freezing = new Freezing(value)
  if (content.holders > 0) content.held = value
  return value
}
