/** Errors of strategic merge patches, with the messages and codes of kube-apiserver's library. */
import type { Json } from '../../util/json/json.ts'
import { badRequest, StatusError } from '../status.ts'
import { goTypeOf, printGo, printGoText } from './go-values.ts'

/** Most errors are a 500 without a reason in kube-apiserver. */
export function failure(message: string): StatusError {
  return new StatusError(500, '', message)
}

/** kube-apiserver's handler panics here and closes the connection. */
export function panic(): StatusError {
  return failure('This request caused apiserver to panic. Look in the logs for details.')
}

export function badFormat(of: 'primitive list' | 'retainKeys' | 'setElementOrder list'): StatusError {
  return badRequest(`invalid patch format of ${of}`)
}

export function listOfLists(): StatusError {
  return new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {})
}

export function noMergeKey(element: Json, mergeKey: string): StatusError {
  return failure(`map: ${printGo(element)} does not contain declared merge key: ${mergeKey}`)
}

export function unknownDirective(directive: Json, patch: Json): StatusError {
  return failure(`unknown patch type: ${printGoText(directive)} in map: ${printGo(patch)}`)
}

export function wrongType(expected: 'map[string]interface {}' | '[]interface {}', actual: Json): StatusError {
  return failure(`expected a ${expected}, but received a ${goTypeOf(actual) ?? '%!s(<nil>)'}`)
}
