/**
 * A digest of JSON values that does not depend on the order of keys. Writes the value with sorted keys into the hash, piece by piece: a
 * sorted copy would double the memory. Does not recurse.
 */
import { nextTurn } from '../async/clock.ts'
import { isContainer, type Json, type JsonContainer } from '../json/json.ts'
import { createDigest } from './digest.ts'

/** Number of characters per update of the hash: hashing is slow with shorter pieces, building strings with longer ones. */
const pieceLength = 4096

/** A container that is being written. */
interface DigestFrame {
  readonly container: JsonContainer
  /** Sorted; undefined for a list. */
  readonly keys: readonly string[] | undefined
  readonly length: number
  index: number
  /** The text before the next value. */
  separator: '' | ','
}

interface DigestWriter {
  readonly digest: ReturnType<typeof createDigest>
  readonly frames: DigestFrame[]
  /** Not hashed yet. */
  text: string
  /** Number of lists among the open containers. */
  lists: number
}

type Root = { readonly [key: string]: unknown }

/** As `digestText` of the JSON text with sorted keys. Fields with null are ignored, except inside lists. */
export function digestSorted(root: Root): string {
  const writing = begin(root)
  while (advance(writing));
  return writing.digest.end()
}

/** As `digestSorted`, in slices of about `sliceMs`, so that large values do not block the event loop. */
export async function digestSortedInSlices(root: Root, sliceMs: number): Promise<string> {
  const writing = begin(root)
  for (let endMs = performance.now() + sliceMs; advance(writing); ) {
    if (performance.now() < endMs) continue
    await nextTurn()
    endMs = performance.now() + sliceMs
  }
  return writing.digest.end()
}

function begin(root: Root): DigestWriter {
  const writing: DigestWriter = { digest: createDigest(), frames: [], text: '', lists: 0 }
  open(writing, root as JsonContainer)
  return writing
}

/** Hashes one piece; true if there is more. */
function advance(writing: DigestWriter): boolean {
  let frame = writing.frames.at(-1)
  for (; frame !== undefined && writing.text.length < pieceLength; frame = writing.frames.at(-1)) {
    if (frame.index === frame.length) close(writing, frame)
    else writeNext(writing, frame)
  }
  flush(writing)
  return frame !== undefined
}

function flush(writing: DigestWriter): void {
  writing.digest.add(writing.text)
  writing.text = ''
}

function writeNext(writing: DigestWriter, frame: DigestFrame): void {
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

function writeValue(writing: DigestWriter, value: unknown): void {
  if (isContainer(value)) open(writing, value)
  else writing.text += typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null')
}

/** Writes empty containers at once: large hostile objects consist mostly of them. */
function open(writing: DigestWriter, container: JsonContainer): void {
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

function close(writing: DigestWriter, { keys }: DigestFrame): void {
  writing.text += keys === undefined ? ']' : '}'
  if (keys === undefined) writing.lists -= 1
  writing.frames.pop()
}
