/**
 * A document of OpenAPI v2 in protobuf, the only form in which kubectl takes it: the messages of gnostic's OpenAPIv2.proto,
 * as far as documents of ours have something to put into them. Values without a message of their own are YAML texts there.
 */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../kube/objects.ts'
import { isPlainObject, type Json } from '../../util/json.ts'
import { wireTypes } from '../protobuf/wire.ts'

export function encodeSwagger(document: JsonObject): Uint8Array {
  return message(document, {
    swagger: [1, text],
    info: [2, (info) => message(info, { title: [1, text], version: [2, text] })],
    paths: [8, (paths) => named(paths, 2, encodePath)],
    definitions: [9, (definitions) => named(definitions, 1, encodeSchema)],
  })
}

/** The bytes of one field's value, without its number; undefined for what is not written. */
type Encode = (value: Json) => Value | undefined
type Value = Buffer | number | boolean

interface Fields {
  readonly [name: string]: readonly [number: number, encode: Encode]
}

function message(value: Json, fields: Fields, extensions?: number): Buffer {
  const object = value as JsonObject
  const parts: Buffer[] = []
  for (const name of Object.keys(object)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field !== undefined) for (const one of each(object[name]!)) write(parts, field[0], field[1](one))
    else if (extensions !== undefined && name.startsWith('x-')) write(parts, extensions, namedAny(name, object[name]!))
  }
  return Buffer.concat(parts)
}

/** Lists are fields that occur several times. */
function each(value: Json): Json[] {
  return Array.isArray(value) ? value : [value]
}

function write(parts: Buffer[], number: number, value: Value | undefined): void {
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

/** An int64 in a message of its own making would be a double: these are written as they are. */
function integer(number: number): (value: Json) => Buffer {
  return (value) => Buffer.concat([varint(number << 3), varint(Math.max(0, Number(value)))])
}

function any(value: Json): Buffer {
  return oneField(2, Buffer.from(`${JSON.stringify(value)}\n`))
}

function oneField(number: number, value: Value): Buffer {
  const parts: Buffer[] = []
  write(parts, number, value)
  return Buffer.concat(parts)
}

function namedAny(name: string, value: Json): Buffer {
  return Buffer.concat([oneField(1, text(name)), oneField(2, any(value))])
}

/** A map: pairs of a name and a value, in the field of that number. */
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

const operationFields: Fields = {
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

/** Wrapped twice: it might be a reference, and it might be a body. */
function encodeParameter(parameter: Json): Buffer {
  const place = (parameter as JsonObject)['in']
  return oneField(1, place === 'body' ? oneField(1, encodeBody(parameter)) : oneField(2, encodePlain(parameter, place)))
}

function encodeBody(parameter: Json): Buffer {
  return message(parameter, { name: [2, text], in: [3, text], required: [4, flag], schema: [5, encodeSchema] })
}

/** Parameters of the query have one field more than those of the path. */
function encodePlain(parameter: Json, place: Json | undefined): Buffer {
  const type = place === 'query' ? 6 : 5
  const unique = place === 'query' ? 20 : 19
  const fields: Fields = {
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

const schemaFields: Fields = {
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
