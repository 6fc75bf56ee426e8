/**
 * The digest of a JSON value that does not depend on the order of keys. The value is written with sorted keys straight into the
 * hash, piece by piece: a sorted copy of an object that fills the memory would take as much again. Does not recurse.
 */
import { nextTurn } from './clock.ts'
import { createDigest } from './digest.ts'
import { isContainer, type Json, type JsonContainer } from './json.ts'

/** Characters that are gathered before they are hashed: the hash is slow with short pieces, the engine with long ones. */
const pieceLength = 4096

/** A container that is being written. */
interface Frame {
  readonly container: JsonContainer
  /** Sorted; undefined for a list. */
  readonly keys: readonly string[] | undefined
  readonly length: number
  index: number
  /** What precedes the next value: nothing, or a comma. */
  separator: '' | ','
}

interface Writing {
  readonly digest: ReturnType<typeof createDigest>
  readonly frames: Frame[]
  /** Not hashed yet. */
  text: string
  /** Lists among the open containers. */
  lists: number
}

type Root = { readonly [key: string]: unknown }

/** As `digestText` of the JSON text with sorted keys. A field with null is no field, except in lists. */
export function digestSorted(root: Root): string {
  const writing = begin(root)
  while (advance(writing));
  return writing.digest.end()
}

/** The same, for a value so large that other work should be done in between: about so long at once. */
export async function digestSortedInSlices(root: Root, sliceMs: number): Promise<string> {
  const writing = begin(root)
  for (let endMs = performance.now() + sliceMs; advance(writing); ) {
    if (performance.now() < endMs) continue
    await nextTurn()
    endMs = performance.now() + sliceMs
  }
  return writing.digest.end()
}

function begin(root: Root): Writing {
  const writing: Writing = { digest: createDigest(), frames: [], text: '', lists: 0 }
  open(writing, root as JsonContainer)
  return writing
}

/** Hashes one piece. Whether there is more. */
function advance(writing: Writing): boolean {
  let frame = writing.frames.at(-1)
  for (; frame !== undefined && writing.text.length < pieceLength; frame = writing.frames.at(-1)) {
    if (frame.index === frame.length) close(writing, frame)
    else writeNext(writing, frame)
  }
  flush(writing)
  return frame !== undefined
}

function flush(writing: Writing): void {
  writing.digest.add(writing.text)
  writing.text = ''
}

function writeNext(writing: Writing, frame: Frame): void {
  const { container, keys, index } = frame
  frame.index += 1
  if (keys === undefined) {
    writing.text += frame.separator
    frame.separator = ','
    writeValue(writing, (container as Json[])[index])
    return
  }
  const key = keys[index]!
  const value: unknown = (container as { [key: string]: unknown })[key]
  if (value === undefined || (value === null && writing.lists === 0)) return
  writing.text += `${frame.separator}${JSON.stringify(key)}:`
  frame.separator = ','
  writeValue(writing, value)
}

function writeValue(writing: Writing, value: unknown): void {
  if (isContainer(value)) open(writing, value)
  else writing.text += typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null')
}

/** Empty containers are written at once: objects that are made to take long have little else. */
function open(writing: Writing, container: JsonContainer): void {
  const isList = Array.isArray(container)
  const keys = isList ? undefined : Object.keys(container)
  const { length } = isList ? container : keys!
  if (length === 0) {
    writing.text += isList ? '[]' : '{}'
    return
  }
  writing.text += isList ? '[' : '{'
  if (isList) writing.lists += 1
  writing.frames.push({ container, keys: keys?.sort(), length, index: 0, separator: '' })
}

function close(writing: Writing, { keys }: Frame): void {
  writing.text += keys === undefined ? ']' : '}'
  if (keys === undefined) writing.lists -= 1
  writing.frames.pop()
}
