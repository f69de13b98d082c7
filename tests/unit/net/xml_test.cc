#include "net/xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/strings.h"

namespace smdebug::net::xml_test {
namespace {

using testing::HasSubstr;

Element Parsed(std::string_view text) {
  auto element = ParseXml(text);
  EXPECT_TRUE(element.IsOk()) << text << ": " << element.GetStatus().Message();
  return element.IsOk() ? *element : Element{};
}

// Returns why the text is refused, or "" if it is accepted.
std::string Fault(std::string_view text) {
  const auto element = ParseXml(text);
  if (element.IsOk()) return "";
  EXPECT_EQ(element.GetStatus().GetCode(), Code::kCorruptData);
  EXPECT_NE(element.GetStatus().Detail("offset"), nullptr);
  return element.GetStatus().Message();
}

TEST(Xml, ReadsAListing) {
  const Element list = Parsed(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\n"
      "  <Contents><Key>a b</Key><Size>5</Size></Contents>\n"
      "  <IsTruncated>false</IsTruncated>\n"
      "  <Contents><Size>6</Size><Key>&lt;x&gt;&amp;</Key></Contents><Empty/><None></None>\n"
      "</ListBucketResult>\n");
  EXPECT_EQ(list.name, "ListBucketResult");
  EXPECT_EQ(list.text, "");
  EXPECT_EQ(list.TextOf("IsTruncated"), "false");
  const auto contents = list.FindAll("Contents");
  ASSERT_EQ(contents.size(), 2U);
  EXPECT_EQ(contents[0]->TextOf("Key"), "a b");
  EXPECT_EQ(contents[1]->TextOf("Key"), "<x>&");
  EXPECT_EQ(contents[1]->TextOf("Size"), "6");
  ASSERT_NE(list.Find("Empty"), nullptr);
  EXPECT_EQ(list.Find("Empty")->text, "");
  EXPECT_EQ(list.Find("Key"), nullptr) << "children only";
  EXPECT_EQ(list.TextOf("Absent"), "");
}

TEST(Xml, IgnoresPrefixesAndAttributes) {
  const Element root = Parsed(
      "<s3:A xmlns:s3='u' b = \"x>y/'\" c='\"'><s3:B\n\txsi:type=\"T\" />"
      "<ns:C>1</ns:C ></s3:A>");
  EXPECT_EQ(root.name, "A");
  ASSERT_EQ(root.children.size(), 2U);
  EXPECT_EQ(root.children[0].name, "B");
  EXPECT_EQ(root.TextOf("C"), "1");
}

TEST(Xml, ResolvesEntities) {
  EXPECT_EQ(Parsed("<a>&amp;&lt;&gt;&quot;&apos;</a>").text, "&<>\"'");
  EXPECT_EQ(Parsed("<a>&#65;&#x42;&#xe9;&#x20AC;&#x1F600;&#10;</a>").text,
            "AB\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n");
  EXPECT_EQ(Parsed("<a>&amp;lt;</a>").text, "&lt;") << "once only";
}

TEST(Xml, JoinsTextAroundCommentsAndCharacterData) {
  EXPECT_EQ(Parsed("<a>1<!-- <b> & -->2<![CDATA[<&]]]>3<?pi x?>4</a>").text, "12<&]34");
  EXPECT_EQ(Parsed("<a> kept </a>").text, " kept ");
  EXPECT_EQ(Parsed("<a> <b/> x </a>").text, "  x ");
}

TEST(Xml, AcceptsAByteOrderMarkAndSurroundingSpace) {
  EXPECT_EQ(Parsed("\xEF\xBB\xBF<?xml version='1.0'?><!-- c --> <a/> <!-- d -->\n").name, "a");
  // A server sends blanks first to keep a waiting client connected.
  EXPECT_EQ(Parsed("  \n<?xml version='1.0'?><a/>").name, "a");
}

TEST(Xml, RefusesDtds) {
  EXPECT_THAT(Fault("<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>"), HasSubstr("DTD"));
  EXPECT_THAT(Fault("<a><!ENTITY x></a>"), HasSubstr("DTD"));
}

TEST(Xml, RefusesWrongEntities) {
  for (const char *entity : {"&x;", "&", "&;", "&amp", "&#;", "&#x;", "&#0;", "&#8;", "&#xD800;",
                             "&#xFFFE;", "&#x110000;", "&#99999999999;", "&#1114112;", "&#6a;",
                             "&#xg;", "&#-5;", "& amp;", "&#X41;", "&#0000000065;"}) {
    EXPECT_THAT(Fault(StrCat("<a>", entity, "</a>")), HasSubstr("at byte 3: ")) << entity;
  }
}

TEST(Xml, ReportsTheOffset) {
  EXPECT_EQ(Fault(""), "XML at byte 0: no element");
  EXPECT_EQ(Fault("hello"), "XML at byte 0: text outside of an element");
  EXPECT_EQ(Fault("<a>hello"), "XML at byte 8: an element without an end");
  EXPECT_EQ(Fault("<a><b></a>"), "XML at byte 8: the end of an element that is not open here");
  EXPECT_EQ(Fault("<a/><b/>"), "XML at byte 4: text after the outermost element");
  EXPECT_EQ(Fault("<a>\x01</a>"), "XML at byte 3: a control character");
}

TEST(Xml, RefusesTextTruncatedAtAnyByte) {
  const std::string whole =
      "<?xml version='1.0'?><!-- c --><a b='c'><d>1&amp;<![CDATA[x]]></d><e/></a>";
  Parsed(whole);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(Fault(whole.substr(0, size)), "") << size;
  }
}

TEST(Xml, RefusesMalformedText) {
  for (const char *text : {"<a",
                           "<a b>",
                           "<a b=c/>",
                           "<a b='c/>",
                           "<a b='<'/>",
                           "<a b='c'd='e'>x",
                           "</a>",
                           "<>",
                           "< a/>",
                           "<1/>",
                           "<-a/>",
                           "<a></ a>",
                           "<a></a",
                           "<a/ >",
                           "<a></a/>",
                           "<a>x</b>",
                           "<p:a></a>",
                           "<a></p:a>",
                           "<a>\xFF</a>",
                           "<a>\xC3</a>",
                           "<a>\xED\xA0\x80</a>",
                           "<![CDATA[x]]><a/>",
                           "<a/><![CDATA[x]]>",
                           "<a/>x",
                           "<a><!-- </a>",
                           "<a><![CDATA[ </a>",
                           "<a><? </a>"}) {
    EXPECT_NE(Fault(text), "") << text;
  }
}

TEST(Xml, HasLimits) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "<a>";
    for (int i = 0; i < depth; ++i) text += "</a>";
    return text;
  };
  EXPECT_EQ(Fault(nested(32)), "");
  EXPECT_THAT(Fault(nested(33)), HasSubstr("32 levels"));
  std::string many = "<a>";
  for (int i = 0; i < 1000000; ++i) many += "<b/>";
  EXPECT_THAT(Fault(many + "</a>"), HasSubstr("1000000 elements"));
  EXPECT_THAT(Fault(StrCat("<a>", std::string(size_t{64} << 20, 'x'), "</a>")),
              HasSubstr("64 MiB"));
}

TEST(Xml, TakesLinearTime) {
  // Each of these would take hours in quadratic time.
  const size_t count = 2000000;
  std::string entities = "<a>";
  std::string unclosed = "<a>";
  for (size_t i = 0; i < count; ++i) entities += "&amp;";
  for (size_t i = 0; i < count; ++i) unclosed += "<!---->";
  EXPECT_EQ(Parsed(entities + "</a>").text.size(), count);
  EXPECT_THAT(Fault(unclosed), HasSubstr("without an end"));
  EXPECT_THAT(Fault("<a>" + std::string(count, '&')), HasSubstr("byte 3"));
}

}  // namespace
}  // namespace smdebug::net::xml_test
