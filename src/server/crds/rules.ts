/** Validates `x-kubernetes-validations` apart from the expressions themselves. Called by openapi.ts. */
import { type FieldError, invalid, notSupported, required } from '../field-errors.ts'
import type { JsonSchema, ValidationRule } from '../schema/structural.ts'
import { findUnsupported } from './completeness.ts'
import { findField } from './field-paths.ts'

const reasons: readonly string[] = [
  'FieldValueDuplicate',
  'FieldValueForbidden',
  'FieldValueInvalid',
  'FieldValueRequired',
]
const hasNewlines = (text: string): boolean => /[\n\r]+/.test(text)

export function validateRules(schema: JsonSchema, path: string): FieldError[] {
  const rules = schema['x-kubernetes-validations'] ?? []
  return rules.flatMap((rule, index) => {
    const field = `${path}.x-kubernetes-validations[${index}]`
    return [...validateTexts(rule, field), ...validateRest(rule, field, schema)]
  })
}

function validateTexts({ rule, message = '' }: ValidationRule, field: string): FieldError[] {
  if (rule.trim() === '') return [required(`${field}.rule`, 'rule is not specified')]
  if (message !== '' && message.trim() === '') {
    return [invalid(`${field}.message`, message, 'must be non-empty if specified')]
  }
  if (hasNewlines(message.trim())) return [invalid(`${field}.message`, message, 'must not contain line breaks')]
  if (hasNewlines(rule.trim()) && message === '') {
    return [required(`${field}.message`, 'message must be specified if rule contains line breaks')]
  }
  return []
}

function validateRest(rule: ValidationRule, field: string, schema: JsonSchema): FieldError[] {
  const { messageExpression = '', reason, fieldPath = '' } = rule
  const errors: FieldError[] = []
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(required(`${field}.messageExpression`, 'messageExpression must be non-empty if specified'))
  }
  if (reason !== undefined && !reasons.includes(reason)) errors.push(notSupported(`${field}.reason`, reason, reasons))
  if (fieldPath === '') return errors
  if (fieldPath.trim() === '') errors.push(invalid(`${field}.fieldPath`, fieldPath, 'must be non-empty if specified'))
  if (hasNewlines(fieldPath)) errors.push(invalid(`${field}.fieldPath`, fieldPath, 'must not contain line breaks'))
  if (findUnsupported(schema) === undefined && 'problem' in findField(fieldPath, schema)) {
    errors.push(invalid(`${field}.fieldPath`, fieldPath, 'must be a valid path'))
  }
  return errors
}
