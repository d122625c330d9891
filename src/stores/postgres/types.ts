import type { CustomTypesConfig } from 'pg'

const INT8 = 20
const FLOAT8 = 701
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802])

/** How values of the database are read, whatever the application has set for its own: all our numbers are safe integers. */
export const numbers: CustomTypesConfig = {
  getTypeParser(type: number): (text: string) => unknown {
    if (type === INT8 || type === FLOAT8 || type === 21 || type === 23) return Number
    if (type === 16) return (text) => text === 't'
    return JSON_TYPES.has(type) ? JSON.parse : String
  },
}
