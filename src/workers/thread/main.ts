/**
 * The program of a worker thread: receives a call, imports its module, calls its function, and sends the result; one call after the other.
 * Started by worker-thread.ts.
 */
import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { KopfError, PermanentError } from '../../errors.ts'
import type { JsonObject } from '../../kube/objects.ts'
import { describeError } from '../../util/log/describe-error.ts'
import { hideOurFrames } from '../../util/log/own-frames.ts'
import { suggestName } from '../../util/text/did-you-mean.ts'
import type { FromThread, LoadedModule, ThreadOptions, ToThread } from '../messages.ts'
import { describeModule } from '../module-files.ts'
import { serializeError } from '../serialize-errors.ts'
import { deserializeArgs, type HostChannel, ThreadCall } from './call.ts'

/** The names, in stack traces, of the functions below that call or import code of users. */
const callers = /#run\b|\bimportFunction\b/

class ThreadProgram implements HostChannel {
  readonly #port: MessagePort
  readonly #sent: Int32Array
  /** A cache by module and export: importing a loaded module again is slower than a short call. */
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
    // Wraps around like the Int32 counter in shared memory.
    this.#received = (this.#received + 1) | 0
    if (message.type === 'call') void this.#run(message)
    else if (message.call === this.#call?.id) this.#call.receive(message)
  }

  async #run({ call: id, module, args }: Extract<ToThread, { readonly type: 'call' }>): Promise<void> {
    const call = new ThreadCall(id, this)
    this.#call = call
    let fn: WorkerFunction
    try {
      fn = await this.#loadFunction(module)
    } catch (error) {
      // Node caches a failed import, so that a retry needs a new thread.
      this.#sendError(call, error, { isUnusable: true })
      return
    }
    try {
      this.#sendResult(call, await fn(deserializeArgs(args, call.remoteValues)))
    } catch (error) {
      this.#sendError(call, error, { isUnusable: false })
    }
  }

  async #loadFunction(module: LoadedModule): Promise<WorkerFunction> {
    const key = `${module.address}#${module.exportName}`
    const fn = this.#functions.get(key) ?? (await importFunction(module))
    this.#functions.set(key, fn)
    return fn
  }

  #sendResult(call: ThreadCall, result: unknown): void {
    const merge = readMerge(call)
    try {
      this.post({ type: 'ended', call: call.id, merge, warnings: call.warnings, result })
    } catch (error) {
      throw new PermanentError(
        `Cannot pass the result of a worker to the operator: ${describeError(error)}; return plain data, or nothing`,
        { code: 'KOPF_WORKER' },
      )
    }
  }

  #sendError(call: ThreadCall, error: unknown, { isUnusable }: { readonly isUnusable: boolean }): void {
    hideOurFrames(error, callers)
    const { id, warnings } = call
    this.post({
      type: 'ended',
      call: id,
      merge: readMergeOrNothing(call),
      warnings,
      thrown: serializeError(error),
      isUnusable,
    })
  }
}

/** A value that JSON cannot hold is a permanent failure, as without a thread. */
function readMerge(call: ThreadCall): JsonObject {
  try {
    return call.readMerge()
  } catch (error) {
    throw new PermanentError(`Cannot write the patch: ${describeError(error)}`)
  }
}

/** The patch of a call that has failed already; empty if it cannot be read. */
function readMergeOrNothing(call: ThreadCall): JsonObject {
  try {
    return call.readMerge()
  } catch {
    return {}
  }
}

type Exports = Readonly<Record<string, unknown>>

type WorkerFunction = (args: object) => unknown

async function importFunction(module: LoadedModule): Promise<WorkerFunction> {
  const exports = (await import(module.address).catch((error) =>
    Promise.reject(explainImportError(error, module)),
  )) as Exports
  const found = findExport(exports, module.exportName)
  if (found !== undefined) return found
  const names = Object.keys(exports)
  const suggestion = suggestName(module.exportName, names)
  const hint =
    suggestion === undefined ? `it exports ${names.join(', ') || 'nothing'}` : `did you mean "${suggestion}"?`
  throw new KopfError(
    'KOPF_WORKER',
    `Cannot run ${describeModule(module)} in a worker: it exports no such function; ${hint}`,
  )
}

/** A CommonJS file has its exports under `default`, and its default export under the `default` there. */
function findExport(exports: Exports, name: string): WorkerFunction | undefined {
  const inner = exports['default'] as Exports | null | undefined
  const found = [exports[name], inner?.[name]].find((one) => typeof one === 'function')
  return found as WorkerFunction | undefined
}

/** Errors of the module itself stay unchanged: their stacks show the place. */
function explainImportError(error: unknown, module: LoadedModule): unknown {
  if ((error as { code?: unknown } | null | undefined)?.code !== 'ERR_UNKNOWN_FILE_EXTENSION') return error
  const why =
    `Node ${process.versions.node} cannot run TypeScript in threads; run the operator with "npx kopf run", ` +
    'compile it to JavaScript beforehand, or use Node 22.18 or newer'
  return new KopfError('KOPF_WORKER', `Cannot run ${describeModule(module)} in a worker: ${why}`, { cause: error })
}

const options = workerData as ThreadOptions
// Before any import, so that stack traces refer to the source files.
if (options.sourceMaps) process.setSourceMapsEnabled(true)
new ThreadProgram(parentPort!, options)
