/** Stacks for the author of an operator: what they know of, not how we came to call it. */
import { ownCode } from './package-files.ts'

/** Cuts the stack of an error where a function of ours has called one of the user: at the first frame of such a name. */
export function hideOurFrames(error: unknown, callers: RegExp): void {
  try {
    if (!(error instanceof Error) || typeof error.stack !== 'string') return
    const lines = error.stack.split('\n')
    const end = lines.findIndex((line) => /^ +at /.test(line) && callers.test(line) && line.includes(ownCode()))
    if (end <= 0) return
    // AsyncLocalStorage stands between our function and the user's where calls are tracked.
    const isBetween = /\(node:(async_hooks|internal\/async_local_storage)/.test(lines[end - 1]!)
    error.stack = lines.slice(0, isBetween ? end - 1 : end).join('\n')
  } catch {
    // Frozen, or made to be in the way: it is shown as it is.
  }
}

/**
 * The line of the user that has called into our code, such as `create (/app/operator.ts:7:9)`: the first frame that is neither ours nor
 * Node's. Undefined where the stack has none.
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
