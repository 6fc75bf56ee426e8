/** One watch through the proxy, and the faults of its byte stream. */
import type { ServerResponse } from 'node:http'

/** Gets the bytes from the server, and forwards all, some or none of them. */
export type Tap = (chunk: Buffer, pipe: WatchPipe) => void

export class WatchPipe {
  tap: Tap = (chunk, pipe) => pipe.write(chunk)
  readonly #response: ServerResponse
  #isAtLineStart = true

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isAtLineStart(): boolean {
    return this.#isAtLineStart
  }

  take(chunk: Buffer): void {
    if (!this.#response.destroyed && !this.#response.writableEnded) this.tap(chunk, this)
  }

  write(bytes: Buffer): void {
    if (bytes.length === 0 || this.#response.destroyed || this.#response.writableEnded) return
    this.#isAtLineStart = bytes.at(-1) === 10
    this.#response.write(bytes)
  }

  /** Ends the response properly. */
  end(): void {
    this.#response.end()
  }

  /** Breaks the connection after the written bytes are sent. */
  cut(): void {
    this.#response.write('', () => this.#response.destroy())
  }
}

const swallow: Tap = () => {}

/** Ends the watch in the given way, and drops later bytes. */
function finish(pipe: WatchPipe, how: 'cut' | 'end'): void {
  pipe.tap = swallow
  pipe[how]()
}

/** Drops all further bytes, and keeps the connection open. */
export function silent(): Tap {
  return swallow
}

export function cutAfter(bytes: number, how: 'cut' | 'end' = 'cut'): Tap {
  let left = bytes
  return (chunk, pipe) => {
    pipe.write(chunk.subarray(0, left))
    left -= chunk.length
    if (left <= 0) finish(pipe, how)
  }
}

export function silentAfter(bytes: number): Tap {
  let left = bytes
  return (chunk, pipe) => {
    if (left > 0) pipe.write(chunk.subarray(0, left))
    left -= chunk.length
  }
}

/** Ends the watch in the middle of the next chunk. */
export function cutInLine(how: 'cut' | 'end' = 'cut'): Tap {
  return (chunk, pipe) => {
    pipe.write(chunk.subarray(0, chunk.length >> 1))
    finish(pipe, how)
  }
}

/** Cuts the watch after the first byte of the next multi-byte character. */
export function cutInCharacter(): Tap {
  return (chunk, pipe) => {
    const first = chunk.findIndex((byte) => byte >= 0xc0)
    pipe.write(first < 0 ? chunk : chunk.subarray(0, first + 1))
    if (first >= 0) finish(pipe, 'cut')
  }
}

/** Sends this line instead of the next line, and ends the watch. */
export function interject(line: string): Tap {
  return (chunk, pipe) => {
    if (!pipe.isAtLineStart) return pipe.write(chunk)
    pipe.write(Buffer.from(`${line}\n`))
    finish(pipe, 'end')
  }
}
