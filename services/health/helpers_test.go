package health

const circuitCalls = 10 // as package pool has it
