package org.smdebug;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class ConfigTest {
  @Test
  void saveConfigs() {
    SaveConfig config = SaveConfig.unset().with(Mode.TRAIN, 10, 5, 100, 7);
    assertTrue(config.isSet(Mode.TRAIN));
    assertFalse(config.isSet(Mode.EVAL));
    assertTrue(config.saves(7, Mode.TRAIN));
    assertTrue(config.saves(10, Mode.TRAIN));
    assertFalse(config.saves(0, Mode.TRAIN));
    assertFalse(config.saves(100, Mode.TRAIN));
    assertTrue(config.orElse(SaveConfig.every(3)).saves(3, Mode.EVAL));
    assertEquals(config, SaveConfig.fromJson(config.toJson()));
    assertEquals(config.hashCode(), SaveConfig.fromJson(config.toJson()).hashCode());
    assertNotEquals(config, SaveConfig.every(10));
    assertThrows(RuntimeException.class, () -> SaveConfig.every(0));
    assertThrows(InvalidConfigException.class, () -> SaveConfig.fromJson("[]"));
  }

  @Test
  void reductionConfigs() {
    ReductionConfig config = ReductionConfig.of("min", "abs_mean");
    assertEquals(List.of("min", "abs_mean"), config.names());
    assertFalse(config.savesRaw());
    assertTrue(config.withRaw().savesRaw());
    assertTrue(config.withShape().savesShape());
    assertEquals(config, ReductionConfig.fromJson(config.toJson()));
    assertThrows(InvalidConfigException.class, () -> ReductionConfig.of("average"));
  }

  @Test
  void collections() {
    try (Collection collection = new Collection("mine")) {
      collection.include("^a").addTensor("b").addTensor("c").removeTensor("c");
      assertEquals("mine", collection.name());
      assertEquals("Collection(mine)", collection.toString());
      assertTrue(collection.contains("abc"));
      assertTrue(collection.contains("b"));
      assertFalse(collection.contains("c"));
      assertEquals(List.of("^a"), collection.regexes());
      assertEquals(List.of("b"), collection.tensorNames());
      assertNull(collection.saveConfig());
      assertNull(collection.reductionConfig());
      collection.saveConfig(SaveConfig.every(2)).reductionConfig(ReductionConfig.of("max"));
      assertEquals(SaveConfig.every(2), collection.saveConfig());
      assertEquals(ReductionConfig.of("max"), collection.reductionConfig());
      try (Collection copy = Collection.fromJson(collection.toJson())) {
        assertEquals(collection.toJson(), copy.toJson());
      }
      assertNull(collection.saveConfig(null).saveConfig());
      assertNull(collection.reductionConfig(null).reductionConfig());
      InvalidConfigException error =
          assertThrows(InvalidConfigException.class, () -> collection.include("("));
      assertEquals(ErrorCode.INVALID_CONFIG, error.code());
    }
  }
}
