/**
 * The program of a thread: waits for a call, imports its module, calls its function, and tells what came of it; one call after
 * the other. The other end of core/handling/invoke.ts, and started by worker-thread.ts.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { describeError } from '../../core/handling/describe-error.ts'
import { PermanentError } from '../../errors.ts'
import type { JsonObject } from '../../kube/objects.ts'
import { hideOurFrames } from '../../util/own-frames.ts'
import { carry } from './carried-errors.ts'
import type { FromThread, LoadedModule, ThreadOptions, ToThread } from './messages.ts'
import { unpackArgs } from './thread-args.ts'
import { type Line, ThreadCall } from './thread-call.ts'
import { importFunction, type WorkerFunction } from './thread-module.ts'

/** As they stand in stacks: what calls functions of the user, and what imports their modules. */
const callers = /#run\b|\bimportFunction\b/

class ThreadProgram implements Line {
  readonly #port: MessagePort
  readonly #sent: Int32Array
  /** By module and export: importing what is there already would take longer than all the rest. */
  readonly #functions = new Map<string, WorkerFunction>()
  #received = 0
  #call: ThreadCall | undefined

  constructor(port: MessagePort, { sent }: ThreadOptions) {
    this.#port = port
    this.#sent = sent
    port.on('message', (message: ToThread) => this.#receive(message))
  }

  post(message: FromThread): void {
    this.#port.postMessage(message)
  }

  poll(): void {
    while (Atomics.load(this.#sent, 0) !== this.#received) {
      const next = receiveMessageOnPort(this.#port) as { readonly message: ToThread } | undefined
      if (next === undefined) return
      this.#receive(next.message)
    }
  }

  #receive(message: ToThread): void {
    // As the other side counts: past the largest number it goes on with the smallest.
    this.#received = (this.#received + 1) | 0
    if (message.type === 'call') void this.#run(message)
    else if (message.call === this.#call?.id) this.#call.receive(message)
  }

  async #run({ call: id, module, args }: Extract<ToThread, { readonly type: 'call' }>): Promise<void> {
    const call = new ThreadCall(id, this)
    this.#call = call
    let fn: WorkerFunction
    try {
      fn = await this.#find(module)
    } catch (error) {
      // Modules that failed to load are not loaded again in the same thread.
      this.#tellThrown(call, error, { isSpent: true })
      return
    }
    try {
      this.#tellResult(call, await fn(unpackArgs(args, call.standIns)))
    } catch (error) {
      this.#tellThrown(call, error, { isSpent: false })
    }
  }

  async #find(module: LoadedModule): Promise<WorkerFunction> {
    const key = `${module.address}#${module.exportName}`
    const fn = this.#functions.get(key) ?? (await importFunction(module))
    this.#functions.set(key, fn)
    return fn
  }

  #tellResult(call: ThreadCall, result: unknown): void {
    const merge = readMerge(call)
    try {
      this.post({ type: 'ended', call: call.id, merge, warnings: call.warnings, result })
    } catch (error) {
      throw new PermanentError(
        `Cannot carry what was returned in a worker to the operator: ${describeError(error)}; return plain data, or nothing`,
        { code: 'KOPF_WORKER' },
      )
    }
  }

  #tellThrown(call: ThreadCall, error: unknown, { isSpent }: { readonly isSpent: boolean }): void {
    hideOurFrames(error, callers)
    const { id, warnings } = call
    this.post({ type: 'ended', call: id, merge: readMergeOf(call), warnings, thrown: carry(error), isSpent })
  }
}

/** As without a thread: what JSON cannot hold is a failure that stays one. */
function readMerge(call: ThreadCall): JsonObject {
  try {
    return call.readMerge()
  } catch (error) {
    throw new PermanentError(`Cannot write the patch: ${describeError(error)}`)
  }
}

/** Of a call that has failed already. */
function readMergeOf(call: ThreadCall): JsonObject {
  try {
    return call.readMerge()
  } catch {
    return {}
  }
}

const options = workerData as ThreadOptions
// Before anything is imported: stacks then tell of the files that people wrote.
if (options.sourceMaps) process.setSourceMapsEnabled(true)
new ThreadProgram(parentPort!, options)
