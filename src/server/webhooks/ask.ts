/** Calls one admission webhook: passes its warnings on, throws its denial, and applies its failure policy. */
import type { ResourceCall } from '../call.ts'
import { quote } from '../field-errors.ts'
import type { PatchOperation } from '../patch-dialect.ts'
import { parseJsonPatch } from '../patches.ts'
import { internalError, StatusError } from '../status.ts'
import { UnusableWebhook } from './authorities.ts'
import type { Phase } from './hooks.ts'
import type { Invocation } from './match.ts'
import type { AdmissionResponse, Refusal } from './response.ts'
import { type Attributes, createReview, type Objects, readAnswer } from './review.ts'

/** The objects and attributes of an admission review, and its phase. */
export interface ReviewInput extends Objects {
  readonly phase: Phase
  readonly attributes: Attributes
}

/** The webhook could not be called, or its response is invalid. The failure policy decides what follows. */
class WebhookFailure extends Error {}

/** Returns the patch of the webhook; empty if the webhook failed and its failure policy is `Ignore`. */
export async function askWebhook(
  call: ResourceCall,
  invocation: Invocation,
  question: ReviewInput,
): Promise<PatchOperation[]> {
  const { name, isOptional } = invocation.hook
  try {
    const response = await send(call, invocation, question)
    call.warnings.push(...response.warnings)
    if (!response.allowed) throw denial(name, response.status)
    return readPatch(response)
  } catch (error) {
    if (!(error instanceof WebhookFailure)) throw error
    // The client is gone: no more webhooks are called.
    call.signal.throwIfAborted()
    if (isOptional) return []
    throw internalError(new Error(`failed calling webhook ${quote(name)}: ${error.message}`))
  }
}

async function send(call: ResourceCall, invocation: Invocation, question: ReviewInput): Promise<AdmissionResponse> {
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

/** A denial always has an error code and a message, even if the webhook gives none. */
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
