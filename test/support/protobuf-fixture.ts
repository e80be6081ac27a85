/**
 * Protobuf messages in bytes that another encoder than ours wrote: Python's `protobuf` 7.36.2 from PyPI, with code that `protoc` of grpcio-tools
 * 1.85.1 made of the same files.
 */

export const SHOP_PROTO = `syntax = "proto3";
package shop;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
enum Colour { NONE = 0; RED = 1; }
message Item { string sku = 1; uint32 count = 2; }
message Tree { string name = 1; repeated Tree children = 2; }
message Order {
  int64 id = 1;
  uint64 big = 2;
  sint32 delta = 3;
  fixed64 fixed = 4;
  sfixed64 signed_fixed = 5;
  int32 small = 6;
  uint32 natural = 7;
  fixed32 fixed_small = 8;
  sfixed32 signed_small = 9;
  sint64 zigzag = 10;
  double price = 11;
  float weight = 12;
  bool paid = 13;
  string note = 14;
  bytes payload = 15;
  Colour colour = 16;
  repeated int32 numbers = 17;
  repeated Item items = 18;
  map<string, Item> by_name = 19;
  map<int64, Colour> colours = 20;
  optional int32 maybe = 21;
  oneof target { string email = 22; Item gift = 23; }
  google.protobuf.Timestamp placed_at = 24;
  google.protobuf.Duration took = 25;
  google.protobuf.StringValue nick = 26;
  google.protobuf.UInt64Value total = 27;
  google.protobuf.Struct extra = 28;
  google.protobuf.Value free = 29;
  google.protobuf.Any any = 30;
  Tree tree = 31;
  repeated string tags = 32;
}
`;

/** Each field of `shop.Order` at an edge: smallest and largest numbers, empty entries, a number that the enum does not have. */
export const ORDER = Buffer.from(
  "088080808080808080800110ffffffffffffffffff0118ffffffff0f21000000000000008029ffffffffffffffff30ffffffffffffffffff0138" +
    "ffffffff0f45ffffffff4d0000008050feffffffffffffffff01599a9999999999b93f65cdcccc3d6801720cc3a920227122200af09f98807a0300" +
    "ff108001018a010d01ffffffffffffffffff01ac029201050a017810029201009a010a0a036b223112030a01769a01040a001200a2010d08fbffff" +
    "ffffffffffff011001a2010408071009a80100b20103614062c2010b0880b584af06108094ef3aca011608ffffffffffffffffff011080b6ca91fe" +
    "ffffffff01d20100da010b08ffffffffffffffffff01e201330a0e0a0161120911000000000000f83f0a210a0162121c321a0a0220010a0208000a" +
    "031a01780a0b2a090a070a016312022a00ea01020800f201240a1d747970652e676f6f676c65617069732e636f6d2f73686f702e4974656d12030a" +
    "0171fa010d0a017212080a016312030a016782020082020162",
  "hex",
);

/** A \`shop.Order\` with nothing but \`gift.sku\` "z". */
export const GIFT_ORDER = Buffer.from("ba01030a017a", "hex");

export const LEGACY_PROTO = `syntax = "proto2";
package legacy;
message Legacy {
  enum Kind { A = 1; B = 2; }
  required int32 id = 1;
  optional string name = 2 [default = "x"];
  repeated group Line = 3 { optional int32 n = 4; }
  optional Kind kind = 5;
  repeated int32 plain = 6;
  repeated int32 packed = 7 [packed = true];
  optional Legacy inner = 8;
  extensions 100 to 200;
}
message Newer { required int32 id = 1; optional int32 kind = 5; optional bytes name = 2; optional string more = 150; }
`;

/** A `legacy.Legacy` with groups, packed and plain numbers and one of its own inside. */
export const LEGACY = Buffer.from("08001b20071c1b1c2802300130023a02030442020805", "hex");

/** A `legacy.Newer` with kind 9 and a field 150. */
export const NEWER = Buffer.from("08012809b2090178", "hex");

/** `protoc --include_imports -o` of `package lab; message Event { Timestamp at = 1; optional string userName = 2; repeated int32 n = 3; map<string, int32> m = 4; }`. */
export const EVENT_DESCRIPTORS = Buffer.from(
  "Cv8BCh9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvEg9nb29nbGUucHJvdG9idWYiOwoJVGltZXN0YW1wEhgKB3NlY29uZHMYASABKANSB3NlY29uZHMSFAoFbmFub3MYAiABKAVSBW5hbm9zQoUBChNjb20uZ29vZ2xlLnByb3RvYnVmQg5UaW1lc3RhbXBQcm90b1ABWjJnb29nbGUuZ29sYW5nLm9yZy9wcm90b2J1Zi90eXBlcy9rbm93bi90aW1lc3RhbXBwYvgBAaICA0dQQqoCHkdvb2dsZS5Qcm90b2J1Zi5XZWxsS25vd25UeXBlc2IGcHJvdG8zCoQCCgtldmVudC5wcm90bxIDbGFiGh9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvIsYBCgVFdmVudBIqCgJhdBgBIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXBSAmF0Eh8KCHVzZXJOYW1lGAIgASgJSABSCHVzZXJOYW1liAEBEgwKAW4YAyADKAVSAW4SHwoBbRgEIAMoCzIRLmxhYi5FdmVudC5NRW50cnlSAW0aNAoGTUVudHJ5EhAKA2tleRgBIAEoCVIDa2V5EhQKBXZhbHVlGAIgASgFUgV2YWx1ZToCOAFCCwoJX3VzZXJOYW1lYgZwcm90bzM=",
  "base64",
);
