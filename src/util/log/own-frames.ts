/** Removes frames of this package from the stacks of errors in handlers, so that they show the user's code. */
import { ownCode } from '../process/package-files.ts'

/** Cuts the stack at the first frame of this package whose function matches `callers`: the function that called the user's code. */
export function hideOurFrames(error: unknown, callers: RegExp): void {
  try {
    if (!(error instanceof Error) || typeof error.stack !== 'string') return
    const lines = error.stack.split('\n')
    const end = lines.findIndex((line) => /^ +at /.test(line) && callers.test(line) && line.includes(ownCode()))
    if (end <= 0) return
    // If calls are tracked, a frame of AsyncLocalStorage is between the two functions.
    const isBetween = /\(node:(async_hooks|internal\/async_local_storage)/.test(lines[end - 1]!)
    error.stack = lines.slice(0, isBetween ? end - 1 : end).join('\n')
  } catch {
    // The error is frozen or has a throwing getter: its stack stays unchanged.
  }
}

/**
 * The position in user code that called this package, such as `create (/app/operator.ts:7:9)`: the first frame that belongs neither to this
 * package nor to Node. Undefined if there is none.
 */
export function placeInUserCode(error: unknown): string | undefined {
  try {
    if (!(error instanceof Error) || typeof error.stack !== 'string') return undefined
    // The stack begins with the message, which may have lines that look like frames.
    const { stack, message } = error
    const lines = stack.slice(stack.indexOf(message) + message.length).split('\n')
    const frame = lines.find((line) => /^ +at /.test(line) && !line.includes(ownCode()) && !/\(?node:/.test(line))
    return frame?.replace(/^ +at (async )?/, '')
  } catch {
    return undefined
  }
}
