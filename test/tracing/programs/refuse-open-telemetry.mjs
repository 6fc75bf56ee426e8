/** Imported before a program: every import of a package of OpenTelemetry fails. */
import { register } from 'node:module'

const hooks = `export function resolve(specifier, context, next) {
  if (specifier.startsWith('@opentelemetry/')) throw new Error('refused: ' + specifier)
  return next(specifier, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
