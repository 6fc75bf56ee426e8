/** One question to one webhook: its warnings are passed on, its refusal is thrown, its failure counts or does not. */
import type { Call } from '../call.ts'
import { quote } from '../field-errors.ts'
import type { PatchOperation } from '../patch-dialect.ts'
import { parseJsonPatch } from '../patches.ts'
import { internalError, StatusError } from '../status.ts'
import { UnusableWebhook } from './authorities.ts'
import type { Phase } from './hooks.ts'
import type { Invocation } from './match.ts'
import type { AdmissionResponse, Refusal } from './response.ts'
import { type Attributes, createReview, type Objects, readAnswer } from './review.ts'

/** What the question is about, and in which phase it is put. */
export interface Question extends Objects {
  readonly phase: Phase
  readonly attributes: Attributes
}

/** The webhook could not be asked, or its answer is none: its failure policy says what follows. */
class WebhookFailure extends Error {}

/** What the webhook wants to be different: nothing where it has failed and need not be heard. */
export async function askWebhook(call: Call, invocation: Invocation, question: Question): Promise<PatchOperation[]> {
  const { name, isOptional } = invocation.hook
  try {
    const response = await send(call, invocation, question)
    call.warnings.push(...response.warnings)
    if (!response.allowed) throw denial(name, response.status)
    return readPatch(response)
  } catch (error) {
    if (!(error instanceof WebhookFailure)) throw error
    // Whoever has gone away wants no more webhooks to be asked.
    call.signal.throwIfAborted()
    if (isOptional) return []
    throw internalError(new Error(`failed calling webhook ${quote(name)}: ${error.message}`))
  }
}

async function send(call: Call, invocation: Invocation, question: Question): Promise<AdmissionResponse> {
  const { clientConfig, timeoutMs } = invocation.hook
  const review = createReview(invocation, question.attributes, question)
  const answer = await call.webhooks
    .call(clientConfig, review, { timeoutMs, signal: call.signal })
    .catch((error: Error) => {
      const isUnusable = error instanceof UnusableWebhook
      throw new WebhookFailure(isUnusable ? error.message : `failed to call webhook: ${error.message}`)
    })
  return asFailure(() => readAnswer(answer, review, question.phase))
}

function asFailure<T>(work: () => T, prefix = ''): T {
  try {
    return work()
  } catch (error) {
    throw new WebhookFailure(`${prefix}${(error as Error).message}`)
  }
}

function readPatch({ patch, patchType }: AdmissionResponse): PatchOperation[] {
  if (patch === '') return []
  const operations = asFailure(() => parseJsonPatch(patch), 'received undecodable patch in webhook response: ')
  if (operations.length === 0 || patchType === 'JSONPatch') return operations
  throw new WebhookFailure(`unsupported patch type ${quote(patchType ?? '')}`)
}

/** Whatever the webhook says, it is a failure: with a code that is one, and with words. */
function denial(name: string, { code = 0, reason = '', message = '', details }: Refusal): StatusError {
  const subject = `admission webhook ${quote(name)} denied the request`
  const why = message || reason
  return new StatusError(
    Math.max(code, 400),
    reason,
    why === '' ? `${subject} without explanation` : `${subject}: ${why}`,
    details as StatusError['details'],
  )
}
