/**
 * Types of Standard Schema and Standard JSON Schema (https://standardschema.dev), by which schemas of any library are accepted. The
 * first gives the types of objects, the second the schema of the CRD. Needs no library.
 */

/** Any schema of zod, valibot, arktype and others. */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  /** The properties that the specification of Standard Schema defines. */
  readonly '~standard': StandardProperties<Input, Output>
}

interface StandardProperties<Input = unknown, Output = Input> {
  /** The version of the specification. */
  readonly version: 1
  /** The name of the schema library: `zod`. */
  readonly vendor: string
  /** Does not exist at run time. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined
  /** Validates a value. */
  readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
  /** Defined if the library supports JSON Schema. */
  readonly jsonSchema?: JsonSchemaConverter | undefined
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

interface SchemaIssue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}

/** Both functions throw for unsupported types and targets. */
interface JsonSchemaConverter {
  readonly input: (options: { readonly target: string }) => Record<string, unknown>
  readonly output: (options: { readonly target: string }) => Record<string, unknown>
}

/** Accepts functions too, since schemas of arktype are functions. */
export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const properties = (value as Partial<StandardSchemaV1>)['~standard']
  return typeof properties === 'object' && properties !== null && properties.version === 1
}
