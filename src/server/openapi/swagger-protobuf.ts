/**
 * Encodes an OpenAPI v2 document as protobuf, the only form that kubectl accepts: the messages of gnostic's OpenAPIv2.proto, as far as
 * our documents need them. Values without their own message are YAML text.
 */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json/json.ts'
import { wireTypes } from '../protobuf/wire.ts'

export function encodeSwagger(document: JsonObject): Uint8Array {
  return message(document, {
    swagger: [1, text],
    info: [2, (info) => message(info, { title: [1, text], version: [2, text] })],
    paths: [8, (paths) => named(paths, 2, encodePath)],
    definitions: [9, (definitions) => named(definitions, 1, encodeSchema)],
  })
}

/** Encodes the value of one field without its number; undefined if the field is not written. */
type Encode = (value: Json) => EncodedValue | undefined
type EncodedValue = Buffer | number | boolean

interface MessageFields {
  readonly [name: string]: readonly [number: number, encode: Encode]
}

function message(value: Json, fields: MessageFields, extensions?: number): Buffer {
  const object = value as JsonObject
  const parts: Buffer[] = []
  for (const name of Object.keys(object)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field !== undefined) for (const one of each(object[name]!)) write(parts, field[0], field[1](one))
    else if (extensions !== undefined && name.startsWith('x-')) write(parts, extensions, namedAny(name, object[name]!))
  }
  return Buffer.concat(parts)
}

/** A list is a repeated field. */
function each(value: Json): Json[] {
  return Array.isArray(value) ? value : [value]
}

function write(parts: Buffer[], number: number, value: EncodedValue | undefined): void {
  if (value === undefined) return
  if (Buffer.isBuffer(value)) {
    parts.push(varint((number << 3) | wireTypes.bytes), varint(value.length), value)
  } else if (typeof value === 'boolean') {
    parts.push(varint(number << 3), varint(value ? 1 : 0))
  } else {
    const bytes = Buffer.alloc(8)
    bytes.writeDoubleLE(value)
    parts.push(varint((number << 3) | wireTypes.fixed64), bytes)
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80)
    rest = Math.floor(rest / 128)
  }
  return Buffer.from([...bytes, rest])
}

function text(value: Json): Buffer {
  return Buffer.from(String(value))
}

const flag: Encode = (value) => value === true
const double: Encode = (value) => Number(value)

/** Encodes an int64 with its field number; `write` would encode a number as a double. */
function integer(number: number): (value: Json) => Buffer {
  return (value) => Buffer.concat([varint(number << 3), varint(Math.max(0, Number(value)))])
}

function any(value: Json): Buffer {
  return oneField(2, Buffer.from(`${JSON.stringify(value)}\n`))
}

function oneField(number: number, value: EncodedValue): Buffer {
  const parts: Buffer[] = []
  write(parts, number, value)
  return Buffer.concat(parts)
}

function namedAny(name: string, value: Json): Buffer {
  return Buffer.concat([oneField(1, text(name)), oneField(2, any(value))])
}

/** A map: name and value pairs in the field with this number. */
function named(map: Json, number: number, encode: (value: Json) => Buffer): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(map as JsonObject)) {
    write(parts, number, Buffer.concat([oneField(1, text(name)), oneField(2, encode(value))]))
  }
  return Buffer.concat(parts)
}

function encodePath(item: Json): Buffer {
  return message(item, {
    get: [2, encodeOperation],
    put: [3, encodeOperation],
    post: [4, encodeOperation],
    delete: [5, encodeOperation],
    patch: [8, encodeOperation],
    parameters: [9, encodeParameter],
  })
}

const operationFields: MessageFields = {
  tags: [1, text],
  description: [3, text],
  operationId: [5, text],
  produces: [6, text],
  consumes: [7, text],
  parameters: [8, encodeParameter],
  responses: [9, (responses) => named(responses, 1, encodeResponse)],
  schemes: [10, text],
}

function encodeOperation(operation: Json): Buffer {
  return message(operation, operationFields, 13)
}

/** Wrapped twice: as "parameter or reference", and as "body or other parameter". */
function encodeParameter(parameter: Json): Buffer {
  const place = (parameter as JsonObject)['in']
  return oneField(1, place === 'body' ? oneField(1, encodeBody(parameter)) : oneField(2, encodePlain(parameter, place)))
}

function encodeBody(parameter: Json): Buffer {
  return message(parameter, { name: [2, text], in: [3, text], required: [4, flag], schema: [5, encodeSchema] })
}

/** Query parameters have one field more than path parameters, which shifts the numbers. */
function encodePlain(parameter: Json, place: Json | undefined): Buffer {
  const type = place === 'query' ? 6 : 5
  const unique = place === 'query' ? 20 : 19
  const fields: MessageFields = {
    required: [1, flag],
    in: [2, text],
    description: [3, text],
    name: [4, text],
    type: [type, text],
    uniqueItems: [unique, flag],
  }
  return oneField(place === 'query' ? 3 : 4, message(parameter, fields))
}

function encodeResponse(response: Json): Buffer {
  const schema: Encode = (value) => oneField(1, encodeSchema(value))
  return oneField(1, message(response, { description: [1, text], schema: [2, schema] }))
}

const schemaFields: MessageFields = {
  $ref: [1, text],
  format: [2, text],
  title: [3, text],
  description: [4, text],
  multipleOf: [6, double],
  maximum: [7, double],
  exclusiveMaximum: [8, flag],
  minimum: [9, double],
  exclusiveMinimum: [10, flag],
  pattern: [13, text],
  uniqueItems: [16, flag],
  required: [19, text],
  enum: [20, any],
  additionalProperties: [21, encodeAdditional],
  type: [22, (type) => oneField(1, text(type))],
  items: [23, (items) => oneField(1, encodeSchema(items))],
  properties: [25, (properties) => named(properties, 1, encodeSchema)],
  example: [30, any],
}

const counts: Readonly<Record<string, number>> = {
  maxLength: 11,
  minLength: 12,
  maxItems: 14,
  minItems: 15,
  maxProperties: 17,
  minProperties: 18,
}

function encodeSchema(schema: Json): Buffer {
  const own = Object.entries(counts).flatMap(([name, number]) => {
    const value = (schema as JsonObject)[name]
    return value === undefined ? [] : [integer(number)(value)]
  })
  return Buffer.concat([message(schema, schemaFields, 31), ...own])
}

function encodeAdditional(additional: Json): Buffer {
  return isPlainObject(additional) ? oneField(1, encodeSchema(additional)) : oneField(2, additional === true)
}
